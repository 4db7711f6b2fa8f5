#pragma once
// Safetensors files that carry their own checksum.
//
// The free text of the header has an entry "minigpt.checksum" with 16 hexadecimal digits: the checksum (nn/checksum.h) of
// the whole file with zeros in the place of these digits. For every other reader it is a file like any other. Files
// without the entry, such as those of other programs, have nothing that could be verified.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt::detail {

inline constexpr const char* kChecksumKey = "minigpt.checksum";
inline constexpr const char* kNoChecksum = "0000000000000000";

// Where the digits begin in the start of a file, its length and header; npos if there are none.
std::size_t find_checksum(std::string_view start);

// The checksum of a file: `start` (changed on the way, and put back) up to the end of its header, then `rest`.
std::string sealed_checksum(std::span<std::byte> start, const std::vector<std::span<const std::byte>>& rest);

}  // namespace minigpt::detail
