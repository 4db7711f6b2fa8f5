// The heat map as a picture of its own.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tools/figures/heat_map.h"
#include "tools/figures/svg.h"
#include "tools/figures/text_width.h"

namespace minigpt::figures {
namespace {

constexpr double kPicture = 560;     // pixels for the cells of the longer side, if they can be that small
constexpr double kCharacter = 0.62;  // width of a terminal column of text, in font sizes

struct Layout {
  double cell, font, left, top, width, height;
  bool standing;  // column labels turned upwards
};

double text_width(const std::vector<std::string>& labels, double font) {
  int columns = 1;
  for (const std::string& label : labels) columns = std::max(columns, display_width(label));
  return columns * font * kCharacter;
}

Layout layout_of(const detail::Cells& cells, const HeatMap& map) {
  Layout l{};
  l.cell = std::clamp(kPicture / static_cast<double>(std::max(cells.rows, cells.columns)), 7.0, 46.0);
  l.font = std::clamp(l.cell * 0.75, 5.0, 13.0);
  const double row_text = text_width(cells.row_labels, l.font),
               column_text = text_width(cells.column_labels, l.font);
  l.standing = column_text > l.cell;
  l.left = 34 + row_text;
  l.top = (map.title.empty() ? 8 : 34) + 24 + (l.standing ? column_text : l.font) + 8;
  l.width = l.left + l.cell * static_cast<double>(cells.columns) + 88;
  // A title may be longer than the picture is wide.
  l.width = std::max(l.width, 24 + display_width(map.title) * 15 * kCharacter);
  l.height = l.top + std::max(l.cell * static_cast<double>(cells.rows), 90.0) + 18;
  return l;
}

void draw_labels(Svg& svg, const detail::Cells& cells, const HeatMap& map, const Layout& l) {
  const double across = l.cell * static_cast<double>(cells.columns),
               down = l.cell * static_cast<double>(cells.rows);
  if (!map.title.empty()) svg.text(12, 24, map.title, 15);
  svg.text(l.left + across / 2, map.title.empty() ? 18 : 46, map.column_axis, 12, Anchor::middle);
  svg.text(18, l.top + down / 2, map.row_axis, 12, Anchor::middle, -90);
  for (std::int64_t i = 0; i < cells.rows; ++i)
    svg.text(l.left - 6, l.top + (static_cast<double>(i) + 0.5) * l.cell + l.font * 0.35,
             cells.row_labels[static_cast<std::size_t>(i)], l.font, Anchor::end);
  for (std::int64_t j = 0; j < cells.columns; ++j) {
    const double x = l.left + (static_cast<double>(j) + 0.5) * l.cell;
    const std::string& label = cells.column_labels[static_cast<std::size_t>(j)];
    if (l.standing)
      svg.text(x + l.font * 0.35, l.top - 6, label, l.font, Anchor::start, -90);
    else
      svg.text(x, l.top - 6, label, l.font, Anchor::middle);
  }
}

void draw_cells(Svg& svg, const detail::Cells& cells, const HeatMap& map, const Layout& l) {
  for (std::int64_t i = 0; i < cells.rows; ++i)
    for (std::int64_t j = 0; j < cells.columns; ++j) {
      const double value = cells.at(i, j), x = l.left + static_cast<double>(j) * l.cell,
                   y = l.top + static_cast<double>(i) * l.cell;
      const Colour fill = heat_colour(cells.share(value));
      svg.rect(x, y, l.cell, l.cell, fill,
               fmt::format("{} {} '{}', {} {} '{}': {:.9g}", map.row_axis, i,
                           cells.row_labels[static_cast<std::size_t>(i)], map.column_axis, j,
                           cells.column_labels[static_cast<std::size_t>(j)], value));
      if (l.cell >= 34 && value != 0)
        svg.text(x + l.cell / 2, y + l.cell / 2 + 4, fmt::format("{:.2f}", value), 11, Anchor::middle, 0,
                 fill.brightness() > 0.5 ? Colour{32, 32, 32} : Colour{255, 255, 255});
    }
  svg.frame(l.left, l.top, l.cell * static_cast<double>(cells.columns),
            l.cell * static_cast<double>(cells.rows), {120, 120, 120});
}

void draw_colour_bar(Svg& svg, const detail::Cells& cells, const Layout& l) {
  constexpr int kSteps = 64, kTicks = 4;
  const double x = l.left + l.cell * static_cast<double>(cells.columns) + 18, width = 14;
  const double height = std::max(l.cell * static_cast<double>(cells.rows), 90.0);
  for (int i = 0; i < kSteps; ++i) {
    const double step = height / kSteps;
    // Half a pixel of overlap, or gaps would show between the steps.
    svg.rect(x, l.top + height - (i + 1) * step, width, step + (i > 0 ? 0.5 : 0),
             heat_colour(i / (kSteps - 1.0)));
  }
  svg.frame(x, l.top, width, height, {120, 120, 120});
  for (int i = 0; i <= kTicks; ++i) {
    const double y = l.top + height * (1 - i / double(kTicks));
    svg.line(x + width, y, x + width + 4, y, {120, 120, 120});
    svg.text(x + width + 7, y + 4, fmt::format("{:.2f}", cells.low + (cells.high - cells.low) * i / kTicks),
             11);
  }
}

}  // namespace

std::string heat_map_svg(const HeatMap& map) {
  const detail::Cells cells = detail::cells_of(map);
  const Layout l = layout_of(cells, map);
  Svg svg(l.width, l.height, map.title.empty() ? "heat map" : map.title);
  draw_cells(svg, cells, map, l);
  draw_labels(svg, cells, map, l);
  draw_colour_bar(svg, cells, l);
  return svg.str();
}

}  // namespace minigpt::figures
