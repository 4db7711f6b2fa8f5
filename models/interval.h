#pragma once
// Which numbers a setting may have, and how that is said: in help texts, in messages, and in the check itself.

#include <limits>
#include <string>

namespace minigpt {

// From low to high, both included unless the value itself is left out. Whatever is not set has no limit.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false, high_excluded = false;

  bool contains(double value) const {
    return (low_excluded ? value > low : value >= low) && (high_excluded ? value < high : value <= high);
  }
  // "1 to 1000", "0 or more", "above 0, at most 1", "0 or more, below 1", "" for any number.
  std::string text() const;
};

inline Interval between(double low, double high) { return {low, high, false, false}; }
inline Interval at_least(double low) { return between(low, std::numeric_limits<double>::infinity()); }
inline Interval above(double low, double high) { return {low, high, true, false}; }
inline Interval below(double low, double high) { return {low, high, false, true}; }

}  // namespace minigpt
