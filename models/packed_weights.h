#pragma once
// Attention weights as short text, for a page that holds every head of a model.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt {

// The rows i = 0 .. T-1 of a causal T x T matrix, of each the columns 0 .. i, every weight w in [0, 1] as the integer
// round(65535 w) in two bytes, low byte first; these bytes in base64 (RFC 4648, section 4). A weight comes back within
// 1 / 131070, so four decimals are exact to the last but one.
// weights: T x T row-major. Throws Error if they are no square.
std::string pack_causal(std::span<const double> weights);

// The same T x T weights, row-major, with zeros above the diagonal. Throws Error for what pack_causal does not give.
std::vector<double> unpack_causal(std::string_view packed);

std::string base64(std::string_view bytes);
// Throws Error for what base64() does not give.
std::string from_base64(std::string_view text);

}  // namespace minigpt
