#include "tools/figures/heat_map.h"

#include <cmath>

#include "tests/tools/run_command.h"
#include "tools/figures/svg.h"
#include "tools/figures/text_width.h"

namespace minigpt::test {
namespace {

using namespace figures;

HeatMap example() {
  HeatMap map;
  map.title = "weights <1>";
  map.weights = Tensor::from<float>({1, 0, 0.25F, 0.75F}, {2, 2});
  map.row_labels = {"the", "猫"};
  map.column_labels = {"\n", " <a"};
  return map;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST_CASE("text width: East Asian characters take two columns, and labels show what is invisible") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("注意a") == 5);
  CHECK(display_width("e\u0301") == 1);
  CHECK(fit_left("ab", 4) == "ab  ");
  CHECK(fit_right("猫", 4) == "  猫");
  CHECK(fit_left("abcdef", 4) == "abc…");
  CHECK(fit_left("注意力机制", 6) == "注意… ");
  CHECK(visible_label("\n") == "\\n");
  CHECK(visible_label(" ") == "␣");
  CHECK(visible_label(" the cat") == "␣the cat");
  CHECK(visible_label("\\") == "\\");
  CHECK(visible_label("\x07") == "\\u{0007}");
}

TEST_CASE("heat map: a terminal without colour gets numbers beside shades") {
  CHECK(heat_map_text(example(), ColourMode::none) ==
        "weights <1>\n"
        "     rows: query, columns: key\n"
        "         \\n   ␣<a\n"
        "the   █1.00     .\n"
        " 猫   ░0.25 ▓0.75\n"
        "     0.00    ░░░░░░▒▒▒▒▒▒▓▓▓▓▓▓███ 1.00   . is exactly 0\n");
}

TEST_CASE("heat map: a dot is explained where there is one, and the words can be Chinese") {
  HeatMap map = example();
  map.weights = Tensor::from<float>({0.9F, 0.1F, 0.001F, 0.999F}, {2, 2});
  CHECK_FALSE(contains(heat_map_text(map, ColourMode::none), "exactly"));  // 0.00 is not a dot
  CHECK(contains(heat_map_text(map, ColourMode::none), "0.00"));
  map = example();
  map.chinese = true;
  map.row_axis = "查询";
  map.column_axis = "键";
  const std::string text = heat_map_text(map, ColourMode::none);
  CHECK(contains(text, "行：查询，列：键"));
  CHECK(contains(text, ". 恰好是 0"));
  CHECK_FALSE(contains(text, "query"));
  CHECK_FALSE(contains(heat_map_svg(map), "query"));
}

TEST_CASE("heat map: colours are 24-bit backgrounds with text that can be read on them") {
  const std::string text = heat_map_text(example(), ColourMode::full);
  CHECK(contains(text, "\x1b[48;2;128;0;38m\x1b[38;5;231m 1.00 \x1b[0m"));    // the darkest, white on it
  CHECK(contains(text, "\x1b[48;2;255;255;204m\x1b[38;5;16m    . \x1b[0m"));  // the lightest
  CHECK(count(text, "\x1b[48") == 4 + 24);                                    // cells and the colour bar
}

TEST_CASE("heat map: a matrix too wide for numbers has cells of two columns and standing labels") {
  HeatMap map;
  map.weights = eye(40);
  map.row_labels = std::vector<std::string>(40, "ab");
  map.column_labels = map.row_labels;
  const std::vector<std::string> lines = lines_of(heat_map_text(map, ColourMode::none));
  REQUIRE(lines.size() == 1 + 2 + 40 + 1);
  CHECK(lines[1].substr(0, 7) == "    a a");
  CHECK(lines[2].substr(0, 7) == "    b b");
  CHECK(lines[3] == "ab  ██");
  CHECK(lines[4] == "ab    ██");
}

TEST_CASE("heat map: the SVG has a cell with its exact value for every weight, and escapes labels") {
  const std::string svg = heat_map_svg(example());
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(contains(svg, "<title>query 1 &#39;猫&#39;, key 1 &#39;␣&lt;a&#39;: 0.75</title>"));
  CHECK(count(svg, "<title>query") == 4);
  CHECK(contains(svg, ">weights &lt;1&gt;</text>"));
  CHECK(contains(svg, "fill=\"#800026\""));
  CHECK_FALSE(contains(svg, "nan"));
}

TEST_CASE("heat map: limits may be set, and what is not a number is grey") {
  HeatMap map;
  map.weights = Tensor::from<double>({-1, 1, std::nan(""), 0}, {2, 2});
  map.low = -1;
  map.high = 1;
  const std::string svg = heat_map_svg(map);
  CHECK(contains(svg, "key 0 &#39;0&#39;: -1</title>"));
  CHECK(contains(svg, "fill=\"#bebebe\""));
  CHECK(contains(heat_map_text(map, ColourMode::none), "?"));
}

TEST_CASE("heat map: weights of one value, and a whole matrix of zeros, have a picture too") {
  HeatMap map;
  map.weights = zeros({1, 3});
  CHECK(contains(heat_map_text(map, ColourMode::none), "0.00"));
  CHECK_FALSE(contains(heat_map_svg(map), "nan"));
}

TEST_CASE("heat map: labels that do not fit the matrix are an error") {
  HeatMap map = example();
  map.row_labels.pop_back();
  CHECK_THROWS_WITH_AS(heat_map_text(map, ColourMode::none), "[heat_map] 1 labels for 2 rows", Error);
  map.weights = zeros({3});
  CHECK_THROWS_WITH_AS(heat_map_svg(map), "[heat_map] weights must be a matrix (rows, columns), got (3)",
                       Error);
}

}  // namespace
}  // namespace minigpt::test
