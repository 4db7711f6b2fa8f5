#pragma once
// Numbers in files: little-endian, at any address, whatever the machine does.

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace minigpt::detail {

// Bytes are put together with shifts. That means the same on every machine and needs no aligned address;
// compilers turn it into one load or store where the machine is little-endian itself.

// The unsigned integer stored in the sizeof(U) bytes at `from`.
template <class U>
U load_little_endian(const std::byte* from) {
  static_assert(std::is_unsigned_v<U>);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return static_cast<U>(((static_cast<U>(from[I]) << (8 * I)) | ...));
  }
  (std::make_index_sequence<sizeof(U)>());
}

// Stores an unsigned integer in the sizeof(U) bytes at `to`.
template <class U>
void store_little_endian(U value, std::byte* to) {
  static_assert(std::is_unsigned_v<U>);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((to[I] = static_cast<std::byte>((value >> (8 * I)) & 0xFF)), ...);
  }
  (std::make_index_sequence<sizeof(U)>());
}

}  // namespace minigpt::detail
