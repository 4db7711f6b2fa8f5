#include "tools/figures/svg.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace minigpt::figures {
namespace {

std::string title_tag(std::string_view text) {
  return text.empty() ? "" : fmt::format("<title>{}</title>", xml_escape(text));
}

const char* name_of(Anchor anchor) {
  return anchor == Anchor::start ? "start" : anchor == Anchor::middle ? "middle" : "end";
}

const char* dash_attribute(bool dashed) { return dashed ? " stroke-dasharray=\"6 4\"" : ""; }

}  // namespace

std::string Colour::hex() const { return fmt::format("#{:02x}{:02x}{:02x}", r, g, b); }

Colour heat_colour(double share) {
  constexpr Colour kSteps[] = {{255, 255, 204}, {255, 237, 160}, {254, 217, 118},
                               {254, 178, 76},  {253, 141, 60},  {252, 78, 42},
                               {227, 26, 28},   {189, 0, 38},    {128, 0, 38}};
  if (!std::isfinite(share)) return {190, 190, 190};
  const double at = std::clamp(share, 0.0, 1.0) * 8;
  const auto below = std::min<std::size_t>(7, static_cast<std::size_t>(at));
  const double t = at - static_cast<double>(below);
  const Colour &a = kSteps[below], &b = kSteps[below + 1];
  const auto mix = [t](int from, int to) { return static_cast<int>(std::lround(from + t * (to - from))); };
  return {mix(a.r, b.r), mix(a.g, b.g), mix(a.b, b.b)};
}

Colour line_colour(std::size_t index) {
  constexpr Colour kColours[] = {{0, 114, 178}, {213, 94, 0},   {0, 158, 115}, {204, 121, 167},
                                 {230, 159, 0}, {86, 180, 233}, {90, 90, 90},  {160, 120, 40}};
  return kColours[index % std::size(kColours)];
}

std::string xml_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
  }
  return out;
}

Svg::Svg(double width, double height, std::string_view name) {
  body_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} "
      "{1:g}\" role=\"img\" "
      "font-family=\"DejaVu Sans, Noto Sans CJK SC, Microsoft YaHei, PingFang SC, sans-serif\">\n"
      "{2}\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width, height, title_tag(name));
}

void Svg::rect(double x, double y, double width, double height, const Colour& fill,
               std::string_view tooltip) {
  body_ += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" fill=\"{}\"", x, y,
                       width, height, fill.hex());
  body_ += tooltip.empty() ? "/>\n" : ">" + title_tag(tooltip) + "</rect>\n";
}

void Svg::frame(double x, double y, double width, double height, const Colour& line) {
  body_ += fmt::format(
      "<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"{:.6g}\" fill=\"none\" stroke=\"{}\"/>\n", x,
      y, width, height, line.hex());
}

void Svg::line(double x1, double y1, double x2, double y2, const Colour& colour, double width, bool dashed) {
  body_ += fmt::format(
      "<line x1=\"{:.6g}\" y1=\"{:.6g}\" x2=\"{:.6g}\" y2=\"{:.6g}\" stroke=\"{}\" "
      "stroke-width=\"{:g}\"{}/>\n",
      x1, y1, x2, y2, colour.hex(), width, dash_attribute(dashed));
}

void Svg::polyline(std::string_view points, const Colour& colour, double width, bool dashed) {
  body_ += fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" "
      "stroke-linejoin=\"round\"{}/>\n",
      points, colour.hex(), width, dash_attribute(dashed));
}

void Svg::circle(double x, double y, double radius, const Colour& fill, std::string_view tooltip) {
  body_ += fmt::format("<circle cx=\"{:.6g}\" cy=\"{:.6g}\" r=\"{:g}\" fill=\"{}\">{}</circle>\n", x, y,
                       radius, fill.hex(), title_tag(tooltip));
}

void Svg::text(double x, double y, std::string_view text, double size, Anchor anchor, double turn,
               const Colour& colour) {
  const std::string rotation =
      turn == 0 ? "" : fmt::format(" transform=\"rotate({:g} {:.6g} {:.6g})\"", turn, x, y);
  body_ += fmt::format(
      "<text x=\"{:.6g}\" y=\"{:.6g}\" font-size=\"{:g}\" text-anchor=\"{}\" fill=\"{}\"{} "
      "xml:space=\"preserve\">{}"
      "</text>\n",
      x, y, size, name_of(anchor), colour.hex(), rotation, xml_escape(text));
}

}  // namespace minigpt::figures
