#include "nn/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "nn/little_endian.h"

namespace minigpt {
namespace {

constexpr std::uint64_t kP1 = 0x9E3779B185EBCA87u, kP2 = 0xC2B2AE3D27D4EB4Fu, kP3 = 0x165667B19E3779F9u,
                        kP4 = 0x85EBCA77C2B2AE63u, kP5 = 0x27D4EB2F165667C5u;

std::uint64_t round_of(std::uint64_t sum, std::uint64_t word) {
  return std::rotl(sum + word * kP2, 31) * kP1;
}

}  // namespace

Checksum::Checksum() : sums_{kP1 + kP2, kP2, 0, 0 - kP1} {}

void Checksum::stripe(const std::byte* bytes) {
  for (std::size_t i = 0; i < sums_.size(); ++i)
    sums_[i] = round_of(sums_[i], detail::load_little_endian<std::uint64_t>(bytes + 8 * i));
}

void Checksum::add(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  if (rest_size_ > 0) {
    const std::size_t taken = std::min(kStripe - rest_size_, bytes.size());
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(rest_size_));
    rest_size_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_size_ < kStripe) return;
    stripe(rest_.data());
    rest_size_ = 0;
  }
  for (; bytes.size() >= kStripe; bytes = bytes.subspan(kStripe)) stripe(bytes.data());
  std::copy(bytes.begin(), bytes.end(), rest_.begin());
  rest_size_ = bytes.size();
}

std::uint64_t Checksum::value() const {
  std::uint64_t h = kP5;
  if (size_ >= kStripe) {
    h = std::rotl(sums_[0], 1) + std::rotl(sums_[1], 7) + std::rotl(sums_[2], 12) + std::rotl(sums_[3], 18);
    for (const std::uint64_t sum : sums_) h = (h ^ round_of(0, sum)) * kP1 + kP4;
  }
  h += size_;
  std::size_t i = 0;
  for (; i + 8 <= rest_size_; i += 8)
    h = std::rotl(h ^ round_of(0, detail::load_little_endian<std::uint64_t>(&rest_[i])), 27) * kP1 + kP4;
  if (i + 4 <= rest_size_) {
    h = std::rotl(h ^ (detail::load_little_endian<std::uint32_t>(&rest_[i]) * kP1), 23) * kP2 + kP3;
    i += 4;
  }
  for (; i < rest_size_; ++i) h = std::rotl(h ^ (std::to_integer<std::uint64_t>(rest_[i]) * kP5), 11) * kP1;
  h = (h ^ (h >> 33)) * kP2;
  h = (h ^ (h >> 29)) * kP3;
  return h ^ (h >> 32);
}

std::string Checksum::text() const { return fmt::format("{:016x}", value()); }

std::string checksum(std::string_view text) {
  Checksum sum;
  sum.add(text);
  return sum.text();
}

}  // namespace minigpt
