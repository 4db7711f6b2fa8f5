#pragma once
// Measurements as curves: a line plot as a complete SVG document.

#include <string>
#include <vector>

namespace minigpt::figures {

enum class Scale { linear, log2, log10 };

struct Series {
  std::string label;         // in the legend
  std::vector<double> x, y;  // as many of each
  bool points = true;        // a dot at each measurement; pointing at it shows its numbers
  bool dashed = false;       // for lines that were computed rather than measured
};

struct LinePlot {
  std::string title, x_label, y_label;
  Scale x_scale = Scale::linear, y_scale = Scale::linear;
  std::vector<Series> series;
};

// Axes with ticks, grid, curves and legend. What an axis cannot show (not finite; zero or less on a logarithmic one) interrupts
// its curve. Throws Error if x and y of a series differ in number, or if nothing is left to draw.
std::string line_plot_svg(const LinePlot& plot);

namespace detail {

// One axis: from values to [0, 1], and where its ticks are.
struct Axis {
  Scale scale = Scale::linear;
  double low = 0, high = 1;  // in the axis' own unit: the value, or its logarithm
  bool whole = false;        // all its values are whole numbers, and so are its ticks
  double place(double value) const;
  bool shows(double value) const;
};
// The smallest axis with round ends that holds all values, which must be shown by the scale.
Axis axis_for(Scale scale, const std::vector<double>& values);
// Between 3 and 12 values on it, in round numbers.
std::vector<double> ticks_of(const Axis& axis);

}  // namespace detail
}  // namespace minigpt::figures
