#include "models/packed_weights.h"

#include <algorithm>
#include <cmath>

#include "tensor/error.h"

namespace minigpt {

std::string base64(std::string_view bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

}  // namespace minigpt
