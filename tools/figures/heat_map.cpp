#include "tools/figures/heat_map.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "models/utf8.h"
#include "tensor/error.h"
#include "tools/figures/svg.h"
#include "tools/figures/text_width.h"

namespace minigpt::figures {
namespace detail {
namespace {

std::vector<std::string> labels_for(const std::vector<std::string>& given, std::int64_t count,
                                    const char* what) {
  std::vector<std::string> labels;
  if (given.empty())
    for (std::int64_t i = 0; i < count; ++i) labels.push_back(std::to_string(i));
  for (const std::string& label : given) labels.push_back(visible_label(label));
  check(static_cast<std::int64_t>(labels.size()) == count, "heat_map", "{} labels for {} {}", labels.size(),
        count, what);
  return labels;
}

}  // namespace

Cells cells_of(const HeatMap& map) {
  check(map.weights.defined() && map.weights.rank() == 2 && map.weights.numel() > 0, "heat_map",
        "weights must be a matrix (rows, columns), got {}",
        map.weights.defined() ? map.weights.shape().str() : "nothing");
  Cells cells;
  cells.rows = map.weights.dim(0);
  cells.columns = map.weights.dim(1);
  cells.values = map.weights.to(DType::f64).to_vector<double>();
  cells.row_labels = labels_for(map.row_labels, cells.rows, "rows");
  cells.column_labels = labels_for(map.column_labels, cells.columns, "columns");
  cells.low = map.low;
  cells.high = map.high;
  if (std::isnan(cells.high)) {
    cells.high = cells.low;
    for (const double v : cells.values)
      if (std::isfinite(v)) cells.high = std::max(cells.high, v);
  }
  return cells;
}

}  // namespace detail

namespace {

constexpr int kPageWidth = 100;
constexpr int kMostLabelColumns = 16;

int widest(const std::vector<std::string>& labels) {
  int columns = 0;
  for (const std::string& label : labels) columns = std::max(columns, display_width(label));
  return std::min(columns, kMostLabelColumns);
}

// A cell of the terminal's picture: text on a colour, or beside a shade.
std::string painted(std::string_view text, double share, ColourMode mode) {
  if (mode == ColourMode::none) return std::string(text);
  const Colour c = heat_colour(share);
  return fmt::format("\x1b[48;2;{};{};{}m\x1b[38;5;{}m{}\x1b[0m", c.r, c.g, c.b,
                     c.brightness() > 0.5 ? 16 : 231, text);
}

// Five steps; the faintest only for what is clearly more than nothing.
const char* shade(double share) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  if (!std::isfinite(share)) return "?";
  return kShades[std::clamp(static_cast<int>(std::lround(share * 4)), 0, 4)];
}

std::string number(double value) { return value == 0 ? "." : fmt::format("{:.2f}", value); }

std::string cell(double value, double share, int width, bool numbers, ColourMode mode) {
  if (!numbers) {
    const std::string s = mode == ColourMode::none ? shade(share) : " ";
    return painted(s + s, share, mode);
  }
  if (mode == ColourMode::none) return fit_right(shade(share) + number(value), width);
  return painted(fit_right(number(value), width - 1) + " ", share, mode);
}

// The column labels above narrow cells: from top to bottom, ending just above their cells.
std::string standing_labels(const std::vector<std::string>& labels, int indent) {
  std::vector<std::u32string> texts;
  std::size_t height = 0;
  for (const std::string& label : labels) {
    texts.push_back(utf8_decode(label, "label").text);
    if (texts.back().size() > kMostLabelColumns)
      texts.back() = texts.back().substr(0, kMostLabelColumns - 1) + U"…";
    height = std::max(height, texts.back().size());
  }
  std::string out;
  for (std::size_t line = 0; line < height; ++line) {
    out += std::string(static_cast<std::size_t>(indent), ' ');
    for (const std::u32string& text : texts) {
      const std::size_t skipped = height - text.size();
      out += fit_left(line < skipped ? "" : utf8_encode(text[line - skipped]), 2);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  }
  return out;
}

// Colours and their values, and what a dot means, if there is one.
std::string legend(const detail::Cells& cells, int indent, bool dots, bool chinese, ColourMode mode) {
  constexpr int kSteps = 24;
  std::string out = std::string(static_cast<std::size_t>(indent), ' ') + fmt::format("{:.2f} ", cells.low);
  for (int i = 0; i < kSteps; ++i) {
    const double share = i / (kSteps - 1.0);
    out += painted(mode == ColourMode::none ? shade(share) : " ", share, mode);
  }
  out += fmt::format(" {:.2f}", cells.high);
  if (dots) out += chinese ? "   . 恰好是 0" : "   . is exactly 0";
  return out + '\n';
}

}  // namespace

ColourMode default_colour_mode() {
  const char* term = std::getenv("TERM");
  const char* no_colour = std::getenv("NO_COLOR");
  const bool plain = (no_colour && *no_colour) || !term || std::string_view(term) == "dumb";
  return !plain && isatty(STDOUT_FILENO) ? ColourMode::full : ColourMode::none;
}

std::string heat_map_text(const HeatMap& map, ColourMode mode) {
  const detail::Cells cells = detail::cells_of(map);
  const int indent = std::max(widest(cells.row_labels), 1) + 2;
  const int room =
      (kPageWidth - indent) / static_cast<int>(std::min<std::int64_t>(cells.columns, kPageWidth));
  const bool numbers = room >= 6;
  const int width = numbers ? std::clamp(widest(cells.column_labels) + 1, 6, room) : 2;

  std::string out = map.title.empty() ? "" : map.title + "\n";
  out += std::string(static_cast<std::size_t>(indent), ' ');
  out += fmt::format(fmt::runtime(map.chinese ? "行：{}，列：{}\n" : "rows: {}, columns: {}\n"), map.row_axis,
                     map.column_axis);
  if (numbers) {
    out += std::string(static_cast<std::size_t>(indent), ' ');
    for (const std::string& label : cells.column_labels) {
      // Above the number, which ends one column before its coloured cell does.
      const bool coloured = mode == ColourMode::full;
      out += coloured ? fit_right(label, width - 1) + " " : " " + fit_right(label, width - 1);
    }
    out.erase(out.find_last_not_of(' ') + 1);
    out += '\n';
  } else {
    out += standing_labels(cells.column_labels, indent);
  }
  for (std::int64_t i = 0; i < cells.rows; ++i) {
    std::string line = fit_right(cells.row_labels[static_cast<std::size_t>(i)], indent - 2) + "  ";
    for (std::int64_t j = 0; j < cells.columns; ++j)
      line += cell(cells.at(i, j), cells.share(cells.at(i, j)), width, numbers, mode);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  const bool dots = numbers && std::find(cells.values.begin(), cells.values.end(), 0.0) != cells.values.end();
  return out + legend(cells, indent, dots, map.chinese, mode);
}

}  // namespace minigpt::figures
