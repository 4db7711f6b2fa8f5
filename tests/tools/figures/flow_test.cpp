#include "tools/figures/flow.h"

#include "tensor/error.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace figures;

Flow residual() {
  Flow flow;
  flow.title = "x + f(x) & more";
  flow.steps = {{"x", "(2)", "", 0}, {"f", "(2)", "bends", 1}, {"g", "(2)", "", 1}, {"add", "(2)", "", -1}};
  flow.edges = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {0, 3}};
  return flow;
}

TEST_CASE("flow: steps below each other; what skips steps runs on a rail") {
  CHECK(flow_text(residual()) ==
        "  x    (2) ──┐\n"
        "  │          │\n"
        "  f    (2)   │  bends\n"
        "  │          │\n"
        "  g    (2)   │\n"
        "  │          │\n"
        "  add  (2) ◀─┘\n");
}

TEST_CASE("flow: crossing rails have columns of their own; one from a step to several is shared") {
  Flow flow = residual();
  flow.steps.push_back({"end", "", "", -1});
  flow.edges.push_back({1, 3});
  flow.edges.push_back({0, 4});
  const auto rails = figures::detail::rails_of(flow);
  REQUIRE(rails.size() == 2);
  CHECK(rails[0].from == 0);
  CHECK(rails[0].to == std::vector<int>{3, 4});
  CHECK(rails[0].column == 1);
  CHECK(rails[1].column == 0);
  const std::vector<std::string> lines = lines_of(flow_text(flow));
  CHECK(contains(lines[0], "────┐"));
  CHECK(contains(lines[6], "◀─┴─┤"));
  CHECK(contains(lines[8], "◀───┘"));
  CHECK_FALSE(contains(lines[7], "end"));
}

TEST_CASE("flow: the SVG has a box per step and escapes what it is given; an edge must go forward") {
  const std::string svg = flow_svg(residual());
  CHECK(svg.starts_with("<svg"));
  CHECK(contains(svg, "x + f(x) &amp; more"));
  CHECK(contains(svg, ">bends</text>"));
  Flow back = residual();
  back.edges.push_back({2, 1});
  CHECK_THROWS_WITH_AS(flow_text(back), "[flow] an edge from step 2 to step 1 of 4", Error);
}

}  // namespace
}  // namespace minigpt::test
