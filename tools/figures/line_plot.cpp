#include "tools/figures/line_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tensor/error.h"
#include "tools/figures/svg.h"
#include "tools/figures/text_width.h"

namespace minigpt::figures {
namespace detail {
namespace {

double unit_of(Scale scale, double value) {
  return scale == Scale::linear ? value : scale == Scale::log2 ? std::log2(value) : std::log10(value);
}
double value_of(Scale scale, double unit) {
  return scale == Scale::linear ? unit : scale == Scale::log2 ? std::exp2(unit) : std::pow(10.0, unit);
}

// 1, 2 or 5 times a power of ten: the step that gives about six ticks.
double round_step(double range) {
  const double rough = range / 6, power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double m : {1.0, 2.0, 5.0})
    if (rough <= m * power * 1.0001) return m * power;
  return 10 * power;
}

// There is nothing between layer 1 and layer 2.
double linear_step(const Axis& axis) {
  const double step = round_step(axis.high - axis.low);
  return axis.whole ? std::max(1.0, step) : step;
}

}  // namespace

double Axis::place(double value) const { return (unit_of(scale, value) - low) / (high - low); }
bool Axis::shows(double value) const { return std::isfinite(value) && (scale == Scale::linear || value > 0); }

Axis axis_for(Scale scale, const std::vector<double>& values) {
  Axis axis{scale, unit_of(scale, *std::min_element(values.begin(), values.end())),
            unit_of(scale, *std::max_element(values.begin(), values.end()))};
  if (axis.high - axis.low < 1e-12 * std::max(1.0, std::abs(axis.high))) {  // one value: some room around it
    const double room = scale == Scale::linear ? std::max(1.0, std::abs(axis.high)) * 0.5 : 1;
    axis.low -= room;
    axis.high += room;
  }
  axis.whole = std::all_of(values.begin(), values.end(), [](double v) { return v == std::round(v); });
  // A logarithmic axis of less than two powers of ten ends where its data end, give or take a little.
  const double room = scale == Scale::linear ? 0 : 0.03 * (axis.high - axis.low);
  const double step = scale == Scale::linear ? linear_step(axis) : 0;
  if (scale == Scale::linear) {
    axis.low = std::floor(axis.low / step + 1e-9) * step;
    axis.high = std::ceil(axis.high / step - 1e-9) * step;
  }
  axis.low -= room;
  axis.high += room;
  return axis;
}

std::vector<double> ticks_of(const Axis& axis) {
  std::vector<double> ticks;
  if (axis.scale == Scale::linear) {
    const double step = linear_step(axis);
    for (auto i = std::llround(std::ceil(axis.low / step - 1e-9));
         static_cast<double>(i) * step <= axis.high + 1e-9 * step; ++i)
      ticks.push_back(static_cast<double>(i) * step);
    return ticks;
  }
  // Whole powers; between few powers of ten also 2 and 5 times those.
  const double range = axis.high - axis.low;
  const double step = std::max(1.0, std::ceil(range / 12));
  const bool finer = axis.scale == Scale::log10 && range < 3;
  for (double unit = std::floor(axis.low); unit <= axis.high; unit += step)
    for (const double m : {1.0, 2.0, 5.0}) {
      if (m > 1 && !finer) continue;
      const double value = value_of(axis.scale, unit) * m;
      if (const double at = axis.place(value); at >= -1e-9 && at <= 1 + 1e-9) ticks.push_back(value);
    }
  return ticks;
}

}  // namespace detail

namespace {

constexpr double kLeft = 78, kTop = 48, kWidth = 520, kHeight = 320;
constexpr Colour kInk{80, 80, 80}, kGrid{225, 225, 225};

std::string tick_text(double value) {
  if (std::abs(value) >= 1e6 || (value != 0 && std::abs(value) < 1e-4)) return fmt::format("{:.0e}", value);
  return fmt::format("{:.6g}", std::abs(value) < 1e-12 ? 0.0 : value);
}

void draw_axes(Svg& svg, const LinePlot& plot, const detail::Axis& x, const detail::Axis& y) {
  for (const double tick : detail::ticks_of(x)) {
    const double at = kLeft + kWidth * x.place(tick);
    svg.line(at, kTop, at, kTop + kHeight, kGrid);
    svg.text(at, kTop + kHeight + 18, tick_text(tick), 11, Anchor::middle);
  }
  for (const double tick : detail::ticks_of(y)) {
    const double at = kTop + kHeight * (1 - y.place(tick));
    svg.line(kLeft, at, kLeft + kWidth, at, kGrid);
    svg.text(kLeft - 6, at + 4, tick_text(tick), 11, Anchor::end);
  }
  svg.frame(kLeft, kTop, kWidth, kHeight, kInk);
  svg.text(kLeft, 26, plot.title, 15);
  svg.text(kLeft + kWidth / 2, kTop + kHeight + 42, plot.x_label, 12, Anchor::middle);
  svg.text(18, kTop + kHeight / 2, plot.y_label, 12, Anchor::middle, -90);
}

void draw_series(Svg& svg, const Series& series, const Colour& colour, const detail::Axis& x,
                 const detail::Axis& y) {
  std::string run;  // the points since the last interruption
  const auto finish = [&] {
    if (run.find(' ') != run.npos) svg.polyline(run, colour, 2, series.dashed);
    run.clear();
  };
  for (std::size_t i = 0; i < series.x.size(); ++i) {
    if (!x.shows(series.x[i]) || !y.shows(series.y[i])) {
      finish();
      continue;
    }
    const double px = kLeft + kWidth * x.place(series.x[i]), py = kTop + kHeight * (1 - y.place(series.y[i]));
    run += fmt::format("{}{:.2f},{:.2f}", run.empty() ? "" : " ", px, py);
    if (series.points)
      svg.circle(px, py, 3.5, colour,
                 fmt::format("{}: {:.6g}, {:.6g}", series.label, series.x[i], series.y[i]));
  }
  finish();
}

void draw_legend(Svg& svg, const LinePlot& plot) {
  double at = kTop + 12;
  for (std::size_t i = 0; i < plot.series.size(); ++i, at += 20) {
    const double x = kLeft + kWidth + 16;
    svg.line(x, at, x + 24, at, line_colour(i), 2, plot.series[i].dashed);
    if (plot.series[i].points) svg.circle(x + 12, at, 3.5, line_colour(i));
    svg.text(x + 31, at + 4, plot.series[i].label, 12);
  }
}

}  // namespace

std::string line_plot_svg(const LinePlot& plot) {
  std::vector<double> xs, ys;
  int legend = 0;
  for (const Series& s : plot.series) {
    check(s.x.size() == s.y.size(), "line_plot", "'{}' has {} x and {} y", s.label, s.x.size(), s.y.size());
    for (std::size_t i = 0; i < s.x.size(); ++i)
      if (detail::Axis{plot.x_scale}.shows(s.x[i]) && detail::Axis{plot.y_scale}.shows(s.y[i])) {
        xs.push_back(s.x[i]);
        ys.push_back(s.y[i]);
      }
    legend = std::max(legend, display_width(s.label));
  }
  check(!xs.empty(), "line_plot", "'{}': there is no point to draw", plot.title);
  const detail::Axis x = detail::axis_for(plot.x_scale, xs), y = detail::axis_for(plot.y_scale, ys);
  const double height =
      std::max(kTop + kHeight + 58, kTop + 20.0 * static_cast<double>(plot.series.size()) + 20);
  Svg svg(kLeft + kWidth + 62 + legend * 7.4, height, plot.title.empty() ? "line plot" : plot.title);
  draw_axes(svg, plot, x, y);
  for (std::size_t i = 0; i < plot.series.size(); ++i) draw_series(svg, plot.series[i], line_colour(i), x, y);
  draw_legend(svg, plot);
  return svg.str();
}

}  // namespace minigpt::figures
