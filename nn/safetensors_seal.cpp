#include "nn/safetensors_seal.h"

#include <fmt/format.h>

#include <algorithm>

#include "nn/checksum.h"

namespace minigpt::detail {
namespace {

constexpr std::size_t kDigits = 16;

}  // namespace

std::size_t find_checksum(std::string_view start) {
  const std::string before = fmt::format("\"{}\":\"", kChecksumKey);
  const std::size_t at = start.find(before);
  if (at == start.npos || at + before.size() + kDigits >= start.size()) return start.npos;
  const std::size_t digits = at + before.size();
  return start[digits + kDigits] == '"' ? digits : start.npos;
}

std::string sealed_checksum(std::span<std::byte> start, const std::vector<std::span<const std::byte>>& rest) {
  const std::size_t at = find_checksum({reinterpret_cast<const char*>(start.data()), start.size()});
  std::vector<std::byte> digits;
  if (at != std::string_view::npos) {
    const std::span<std::byte> place = start.subspan(at, kDigits);
    digits.assign(place.begin(), place.end());
    std::fill(place.begin(), place.end(), std::byte{'0'});
  }
  Checksum sum;
  sum.add(start);
  for (const std::span<const std::byte> piece : rest) sum.add(piece);
  std::copy(digits.begin(), digits.end(),
            start.begin() + static_cast<std::ptrdiff_t>(digits.empty() ? 0 : at));
  return sum.text();
}

}  // namespace minigpt::detail
