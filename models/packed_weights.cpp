#include "models/packed_weights.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"

namespace minigpt {

namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string from_base64(std::string_view text) {
  check(text.size() % 4 == 0, "from_base64", "{} letters are no whole groups of 4", text.size());
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    const std::string_view group = text.substr(i, 4);
    // "=" stands for bytes that were not there, at the very end.
    const std::size_t full = i + 4 == text.size() ? group.find_last_not_of('=') + 1 : 4;
    unsigned three = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t value = k < full ? letters.find(group[k]) : 0;
      check(value != letters.npos, "from_base64", "byte {} is no letter of it", i + k);
      three = three << 6 | static_cast<unsigned>(value);
    }
    check(full >= 2, "from_base64", "the last group is incomplete");
    for (std::size_t k = 0; k + 1 < full; ++k) bytes += static_cast<char>(three >> (16 - 8 * k) & 255);
  }
  return bytes;
}

std::string base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t i) {
    return i < bytes.size() ? static_cast<unsigned>(static_cast<unsigned char>(bytes[i])) : 0U;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const unsigned three = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    text += letters[three >> 18];
    text += letters[three >> 12 & 63];
    text += i + 1 < bytes.size() ? letters[three >> 6 & 63] : '=';
    text += i + 2 < bytes.size() ? letters[three & 63] : '=';
  }
  return text;
}

std::string pack_causal(std::span<const double> weights) {
  const auto T = static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(weights.size()))));
  check(T * T == weights.size(), "pack_causal", "{} weights are no square", weights.size());
  std::string bytes;
  bytes.reserve(T * (T + 1));
  for (std::size_t i = 0; i < T; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double w = weights[i * T + j];
      const auto level =
          static_cast<unsigned>(std::lround(65535 * (w > 0 ? std::min(w, 1.0) : 0.0)));  // NaN: 0
      bytes += static_cast<char>(level & 255);
      bytes += static_cast<char>(level >> 8);
    }
  return base64(bytes);
}

std::vector<double> unpack_causal(std::string_view packed) {
  const std::string bytes = from_base64(packed);
  // T (T + 1) / 2 weights of two bytes.
  const auto T =
      static_cast<std::size_t>(std::llround(std::sqrt(static_cast<double>(bytes.size()) + 0.25) - 0.5));
  check(T * (T + 1) == bytes.size(), "unpack_causal", "{} bytes are no triangle of weights", bytes.size());
  std::vector<double> weights(T * T);
  std::size_t at = 0;
  const auto byte = [&] { return static_cast<unsigned>(static_cast<unsigned char>(bytes[at++])); };
  for (std::size_t i = 0; i < T; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const unsigned low = byte();
      weights[i * T + j] = (low | byte() << 8) / 65535.0;
    }
  return weights;
}

}  // namespace minigpt
