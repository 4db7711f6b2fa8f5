#pragma once
// The JSON header of a safetensors file: which tensors it holds, and where their bytes are.
//
//   {"__metadata__": {"key": "text", ...},
//    "wte.weight": {"dtype": "F32", "shape": [65, 32], "data_offsets": [0, 8320]}, ...}
//
// A header is somebody else's data, so no single field is believed: types, shapes, byte ranges and the size
// of the file have to agree with each other before a tensor is handed out. Limits: 100 MB of header, 8
// dimensions. Source: github.com/huggingface/safetensors, README, section "Format".

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace minigpt {

// One tensor of a safetensors file. Its bytes are [begin, end), counted from the end of the header.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as the format spells it: "F32", "I64", "BOOL", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  // Product of the dimensions: 1 for shape (), 0 if any dimension is 0.
  std::int64_t element_count() const;
};

namespace detail {

// The largest header that is read or written, in bytes; the reference implementation has the same limit.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
// The most dimensions a tensor of this library has.
inline constexpr std::size_t kMaxTensorRank = 8;

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // in the order of their bytes
  std::map<std::string, std::string> metadata;
};

// Parses and validates `json`, the header of a file of `file_size` bytes named `file` (used in messages
// only). Throws Error: JSON that is malformed, repeats a key or is not of the form above; unknown dtypes;
// numbers that are not non-negative integers; a byte range that does not fit shape and dtype; ranges that
// overlap, leave a hole, end after the file or before it.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> json, std::uint64_t file_size,
                                           std::string_view file);

// Bits of one element of a type the format knows ("F32" -> 32, "F4" -> 4); 0 for any other name.
int bits_of_safetensors_dtype(std::string_view dtype);

// Bytes of a tensor, product(shape) * bits / 8. Throws Error in the name of `who` if the product does not fit
// in 63 bits, a dimension is negative, there are more than 8 of them, or the bits do not fill whole bytes.
std::uint64_t safetensors_byte_count(std::string_view dtype, std::span<const std::int64_t> shape,
                                     std::string_view who);

// A name for use in a message: quoted, control characters escaped, cut to a readable length.
std::string quote_name(std::string_view name);

// The same for the arguments of check(): quoted only once the message is made, not for every name that is in order.
struct Quoted {
  std::string_view name;
};

}  // namespace detail
}  // namespace minigpt

// Not derived from fmt's string formatter: GCC 12 warns about the parsing of its widths.
template <>
struct fmt::formatter<minigpt::detail::Quoted> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  template <class Context>
  auto format(const minigpt::detail::Quoted& quoted, Context& context) const {
    return fmt::format_to(context.out(), "{}", minigpt::detail::quote_name(quoted.name));
  }
};
