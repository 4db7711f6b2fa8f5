#include "models/interval.h"

#include <fmt/format.h>

#include <cmath>

namespace minigpt {
namespace {

// Whole numbers in full, also the large ones: 1000000000000000 rather than 1e+15.
std::string number_text(double value) {
  const bool whole = std::nearbyint(value) == value && std::fabs(value) < 1e16;
  return whole ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

}  // namespace

std::string Interval::text() const {
  const bool from = std::isfinite(low), to = std::isfinite(high);
  if (from && to && !low_excluded && !high_excluded)
    return fmt::format("{} to {}", number_text(low), number_text(high));
  std::string text;
  if (from) text = low_excluded ? "above " + number_text(low) : number_text(low) + " or more";
  if (to) text += (from ? ", " : "") + std::string(high_excluded ? "below " : "at most ") + number_text(high);
  return text;
}

}  // namespace minigpt
