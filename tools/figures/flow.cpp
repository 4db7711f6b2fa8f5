#include "tools/figures/flow.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "tensor/error.h"
#include "tools/figures/svg.h"
#include "tools/figures/text_width.h"

namespace minigpt::figures {
namespace {

bool joined(const Flow& flow, int from, int to) {
  return std::any_of(flow.edges.begin(), flow.edges.end(),
                     [&](const FlowEdge& e) { return e.from == from && e.to == to; });
}

// What a rail looks like beside step i: a piece of line per column, ended by the arrow or the start at the step itself.
std::string rail_cells(const std::vector<detail::Rail>& rails, int columns, int i, bool between) {
  // Widest reach of a horizontal line that begins or ends at this step.
  int reach = -1;
  bool arrives = false;
  for (const detail::Rail& r : rails) {
    const bool ends = std::find(r.to.begin(), r.to.end(), i) != r.to.end();
    if (between || (r.from != i && !ends)) continue;
    reach = std::max(reach, r.column);
    arrives = arrives || ends;
  }
  std::string out = reach < 0 ? "  " : arrives ? " ◀" : " ─";
  for (int column = 0; column < columns; ++column) {
    std::string cell = column < reach ? "──" : "  ";
    for (const detail::Rail& r : rails) {
      if (r.column != column) continue;
      const bool starts = !between && r.from == i, last = !between && r.to.back() == i;
      const bool meets = !between && std::find(r.to.begin(), r.to.end(), i) != r.to.end();
      const bool passes = r.from < i && i < r.to.back();
      const bool below = between && r.from <= i && i < r.to.back();
      const bool further = column < reach;  // the line goes on to a rail behind this one
      if (starts)
        cell = further ? "─┬" : "─┐";
      else if (last)
        cell = further ? "─┴" : "─┘";
      else if (meets)
        cell = further ? "─┼" : "─┤";
      else if (passes || below)
        cell = further ? "─│" : " │";
      else
        continue;
      break;
    }
    out += cell;
  }
  return out;
}

std::string without_trailing_blanks(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

constexpr double kRow = 44, kBox = 28, kLeft = 20, kTop = 44, kRail = 18;

double middle_of(int step) { return kTop + kRow * step + kBox / 2; }

void arrow_down(Svg& svg, double x, double y1, double y2, const Colour& colour) {
  svg.line(x, y1, x, y2, colour, 1.5);
  svg.polyline(fmt::format("{},{} {},{} {},{}", x - 4, y2 - 6, x, y2, x + 4, y2 - 6), colour, 1.5);
}

}  // namespace

std::vector<detail::Rail> detail::rails_of(const Flow& flow) {
  const int n = static_cast<int>(flow.steps.size());
  std::vector<std::set<int>> far(flow.steps.size());
  for (const FlowEdge& e : flow.edges) {
    check(e.from >= 0 && e.from < e.to && e.to < n, "flow", "an edge from step {} to step {} of {}", e.from,
          e.to, n);
    if (e.to > e.from + 1) far[static_cast<std::size_t>(e.from)].insert(e.to);
  }
  std::vector<Rail> rails;
  for (int i = 0; i < n; ++i) {
    const std::set<int>& to = far[static_cast<std::size_t>(i)];
    if (!to.empty()) rails.push_back({i, {to.begin(), to.end()}, 0});
  }
  // Short ones first, next to the steps; each in the first column where no other is in its way.
  std::vector<std::size_t> order(rails.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const auto length = [&](std::size_t i) { return rails[i].to.back() - rails[i].from; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return length(a) < length(b); });
  for (std::size_t k = 0; k < order.size(); ++k) {
    Rail& rail = rails[order[k]];
    for (std::size_t j = 0; j < k; ++j) {
      const Rail& other = rails[order[j]];
      // One may begin where the other ends only in another column: they would look like one.
      if (other.from <= rail.to.back() && rail.from <= other.to.back())
        rail.column = std::max(rail.column, other.column + 1);
    }
  }
  return rails;
}

std::string flow_text(const Flow& flow) {
  const std::vector<detail::Rail> rails = detail::rails_of(flow);
  int columns = 0, label = 0, detail = 0, note = 0;
  for (const detail::Rail& r : rails) columns = std::max(columns, r.column + 1);
  for (const FlowStep& s : flow.steps) {
    label = std::max(label, display_width(s.label));
    detail = std::max(detail, display_width(s.detail));
    note = std::max(note, display_width(s.note));
  }
  std::string out;
  for (int i = 0; i < static_cast<int>(flow.steps.size()); ++i) {
    const FlowStep& s = flow.steps[static_cast<std::size_t>(i)];
    out += without_trailing_blanks(fmt::format("  {}  {}{}  {}", fit_left(s.label, label),
                                               fit_left(s.detail, detail),
                                               rail_cells(rails, columns, i, false), s.note)) +
           "\n";
    if (i + 1 == static_cast<int>(flow.steps.size())) break;
    out += without_trailing_blanks(fmt::format(
               "  {}  {}{}", fit_left(joined(flow, i, i + 1) ? "│" : "", label),
               std::string(static_cast<std::size_t>(detail), ' '), rail_cells(rails, columns, i, true))) +
           "\n";
  }
  return out;
}

std::string flow_svg(const Flow& flow) {
  const std::vector<detail::Rail> rails = detail::rails_of(flow);
  int columns = 0, text = 10, note = 0;
  for (const detail::Rail& r : rails) columns = std::max(columns, r.column + 1);
  for (const FlowStep& s : flow.steps) {
    text = std::max(text, display_width(s.label) + display_width(s.detail) + 4);
    note = std::max(note, display_width(s.note));
  }
  const double box = 7.6 * text + 16, side = kLeft + box;
  const double notes = side + 24 + kRail * columns;
  Svg svg(notes + 7.2 * note + 20, kTop + kRow * static_cast<double>(flow.steps.size()) + 4, flow.title);
  svg.text(kLeft, 26, flow.title, 15);
  const Colour ink = {70, 70, 70};
  for (int i = 0; i < static_cast<int>(flow.steps.size()); ++i) {
    const FlowStep& s = flow.steps[static_cast<std::size_t>(i)];
    const double y = kTop + kRow * i;
    const Colour edge = s.colour < 0 ? ink : line_colour(static_cast<std::size_t>(s.colour));
    svg.rect(kLeft, y, box, kBox, {246, 247, 249}, s.note);
    svg.rect(kLeft, y, 5, kBox, edge);
    svg.frame(kLeft, y, box, kBox, edge);
    svg.text(kLeft + 14, y + 19, s.label, 12.5);
    svg.text(side - 8, y + 19, s.detail, 12.5, Anchor::end, 0, {70, 70, 70});
    if (!s.note.empty()) svg.text(notes, y + 19, s.note, 12, Anchor::start, 0, {70, 70, 70});
    if (joined(flow, i, i + 1)) arrow_down(svg, kLeft + 24, y + kBox, y + kRow, ink);
  }
  for (const detail::Rail& r : rails) {
    const double x = side + 14 + kRail * r.column;
    const Colour colour = line_colour(static_cast<std::size_t>(r.column));
    // A little lower where it leaves than where others arrive, so that the two can be told apart.
    svg.polyline(
        fmt::format("{0},{1} {2},{1} {2},{3}", side, middle_of(r.from) + 5, x, middle_of(r.to.back()) - 5),
        colour, 1.5);
    for (const int to : r.to) {
      const double y = middle_of(to) - 5;
      svg.line(x, y, side, y, colour, 1.5);
      svg.polyline(fmt::format("{0},{1} {2},{3} {0},{4}", side + 6, y - 4, side, y, y + 4), colour, 1.5);
    }
  }
  return svg.str();
}

}  // namespace minigpt::figures
