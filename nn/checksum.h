#pragma once
// Checksums of files: XXH64, with which damage is noticed, not malice.
//
// Four sums run beside each other over 32 bytes at a time, each s = rotl(s + word * P2, 31) * P1, and are merged at the end.
// Every step can be undone, so two contents that differ within one 8-byte word never have the same checksum; others have it
// with a chance of 2^-64. It is many times faster than a disk. `xxhsum -H64 FILE` prints the same numbers.
// Source: github.com/Cyan4973/xxHash, doc/xxhash_spec.md (version 0.2.0, seed 0).

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace minigpt {

// The checksum of bytes that come in pieces; how they are cut does not matter.
class Checksum {
 public:
  Checksum();
  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  // Of all bytes so far; more may follow.
  std::uint64_t value() const;
  // The same as 16 hexadecimal digits.
  std::string text() const;

 private:
  static constexpr std::size_t kStripe = 32;

  void stripe(const std::byte* bytes);

  std::array<std::uint64_t, 4> sums_;
  std::array<std::byte, kStripe> rest_{};  // bytes that do not fill a stripe yet
  std::size_t rest_size_ = 0;
  std::uint64_t size_ = 0;
};

// Checksum::text() of one piece.
std::string checksum(std::string_view text);

// What a file was when it was last known to be good.
struct FileSeal {
  std::int64_t bytes = 0;
  std::string checksum;
  bool operator==(const FileSeal&) const = default;
};

}  // namespace minigpt
