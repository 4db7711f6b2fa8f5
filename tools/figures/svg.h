#pragma once
// Writing SVG: a picture as text, which any browser shows.

#include <string>
#include <string_view>

namespace minigpt::figures {

struct Colour {
  int r = 0, g = 0, b = 0;  // 0..255
  std::string hex() const;  // "#rrggbb"
  // How bright it looks, 0..1: what decides between black and white text on it (ITU-R BT.601).
  double brightness() const { return (0.299 * r + 0.587 * g + 0.114 * b) / 255; }
};

// Yellow over orange to red, darker the more, for a share in [0, 1] (clamped); grey if it is not a number.
// The nine-step map YlOrRd of Cynthia Brewer (colorbrewer2.org), with straight lines between the steps.
Colour heat_colour(double share);

// Line colours that people with any kind of colour vision can tell apart, in turn (Okabe and Ito 2008).
Colour line_colour(std::size_t index);

// Text for between tags and inside quotes: & < > " ' as entities; control characters, which XML forbids, as "?".
std::string xml_escape(std::string_view text);

enum class Anchor { start, middle, end };

// Collects shapes and writes them into one <svg> element. Lengths are pixels, y grows downwards.
class Svg {
 public:
  // `name` is what a screen reader says and a browser shows as tooltip.
  Svg(double width, double height, std::string_view name);

  // tooltip: shown while the pointer rests on it; "" for none.
  void rect(double x, double y, double width, double height, const Colour& fill,
            std::string_view tooltip = "");
  void frame(double x, double y, double width, double height, const Colour& line);
  void line(double x1, double y1, double x2, double y2, const Colour& colour, double width = 1,
            bool dashed = false);
  // points: "x,y x,y ..."
  void polyline(std::string_view points, const Colour& colour, double width = 2, bool dashed = false);
  void circle(double x, double y, double radius, const Colour& fill, std::string_view tooltip = "");
  // turn: degrees, clockwise, about (x, y).
  void text(double x, double y, std::string_view text, double size, Anchor anchor = Anchor::start,
            double turn = 0, const Colour& colour = {32, 32, 32});

  // The whole document.
  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

}  // namespace minigpt::figures
