#include "tools/figures/line_plot.h"

#include <cmath>

#include "tensor/error.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace figures;

TEST_CASE("line plot: linear axes have round ends and ticks") {
  const auto axis = figures::detail::axis_for(Scale::linear, {3.2, 58});
  CHECK(axis.low == 0);
  CHECK(axis.high == 60);
  CHECK(figures::detail::ticks_of(axis) == std::vector<double>{0, 10, 20, 30, 40, 50, 60});
  CHECK(axis.place(15) == doctest::Approx(0.25));
}

TEST_CASE("line plot: an axis of whole numbers has no ticks between them") {
  CHECK(figures::detail::ticks_of(figures::detail::axis_for(Scale::linear, {0, 1, 2})) ==
        std::vector<double>{0, 1, 2});
  CHECK(figures::detail::ticks_of(figures::detail::axis_for(Scale::linear, {0, 1.5, 2})).size() == 5);
}

TEST_CASE("line plot: logarithmic axes have their ticks at powers") {
  const auto two = figures::detail::axis_for(Scale::log2, {64, 4096});
  CHECK(figures::detail::ticks_of(two) == std::vector<double>{64, 128, 256, 512, 1024, 2048, 4096});
  CHECK(two.place(512) == doctest::Approx(0.5));
  const auto ten = figures::detail::axis_for(Scale::log10, {1e-3, 1e4});
  CHECK(figures::detail::ticks_of(ten).size() == 8);
  const auto short_one = figures::detail::axis_for(Scale::log10, {1, 30});
  CHECK(figures::detail::ticks_of(short_one) == std::vector<double>{1, 2, 5, 10, 20});
}

TEST_CASE("line plot: curves, points with their numbers, axis labels and a legend") {
  LinePlot plot;
  plot.title = "time & place";
  plot.x_label = "n";
  plot.y_label = "ms";
  plot.x_scale = Scale::log2;
  plot.y_scale = Scale::log10;
  plot.series = {{"plain", {64, 128, 256}, {1, 4, 16}}, {"fit", {64, 256}, {1, 16}, false, true}};
  const std::string svg = line_plot_svg(plot);
  CHECK(contains(svg, "<title>plain: 128, 4</title>"));
  CHECK(contains(svg, "time &amp; place"));
  CHECK(contains(svg, "stroke-dasharray"));
  for (const char* label : {">plain<", ">fit<", ">n<", ">ms<", ">64<", ">10<"}) CHECK(contains(svg, label));
}

TEST_CASE("line plot: what an axis cannot show interrupts the curve") {
  LinePlot plot;
  plot.y_scale = Scale::log10;
  plot.series = {{"a", {1, 2, 3, 4, 5}, {1, 10, 0, 10, std::nan("")}}};
  const std::string svg = line_plot_svg(plot);
  CHECK(svg.find("<polyline") == svg.rfind("<polyline"));  // 1, 2; the lone 4 has only a point
  CHECK_FALSE(contains(svg, "nan"));
  CHECK_FALSE(contains(svg, "inf"));
}

TEST_CASE("line plot: one point, or the same value twice, is enough; nothing is an error") {
  LinePlot plot;
  plot.title = "t";
  plot.series = {{"a", {2, 2}, {5, 5}}};
  CHECK_FALSE(contains(line_plot_svg(plot), "nan"));
  plot.series = {{"a", {1}, {}}};
  CHECK_THROWS_WITH_AS(line_plot_svg(plot), "[line_plot] 'a' has 1 x and 0 y", Error);
  plot.series.clear();
  CHECK_THROWS_WITH_AS(line_plot_svg(plot), "[line_plot] 't': there is no point to draw", Error);
}

}  // namespace
}  // namespace minigpt::test
