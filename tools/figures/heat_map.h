#pragma once
// Attention weights as a picture: one row per query, one column per key, the darker the more weight.

#include <limits>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt::figures {

struct HeatMap {
  std::string title;
  Tensor weights;                                          // (rows, cols), any numeric type
  std::vector<std::string> row_labels, column_labels;      // tokens; empty: the numbers 0, 1, ...
  std::string row_axis = "query", column_axis = "key";     // what rows and columns are
  bool chinese = false;                                    // the few words that are put around the picture
  double low = 0;                                          // the value of the lightest colour
  double high = std::numeric_limits<double>::quiet_NaN();  // of the darkest; not a number: the largest weight
};

enum class ColourMode {
  none,  // shades of grey made of block characters
  full,  // 24-bit background colours, as nearly all terminals have had since 2015
};

// full if standard output is a terminal, NO_COLOR is not set (no-color.org) and TERM is not "dumb".
ColourMode default_colour_mode();

// For a terminal: labels, one cell per weight, colour bar. Cells hold the numbers with two decimals if at most 100 columns are
// needed for that (a weight of exactly 0 is a dot, which the last line then says), else they are two columns wide. Ends with a line break.
// Throws Error unless weights are a matrix of at least 1 x 1 and labels, if given, are as many as it has rows and columns.
std::string heat_map_text(const HeatMap& map, ColourMode mode);

// The same as a complete SVG document in the colour map YlOrRd. Pointing at a cell shows its tokens and its exact value.
std::string heat_map_svg(const HeatMap& map);

namespace detail {

// A heat map after its checks: plain numbers, labels in a printable form, the limits of the colours.
struct Cells {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> values;  // row-major
  std::vector<std::string> row_labels, column_labels;
  double low = 0, high = 1;

  double at(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  // Where a value lies between low and high; not a number if it is none.
  double share(double value) const {
    return high > low ? (value - low) / (high - low) : (value >= high ? 1 : 0);
  }
};
Cells cells_of(const HeatMap& map);

}  // namespace detail
}  // namespace minigpt::figures
