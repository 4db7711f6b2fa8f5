#include "tools/lessons/text_layout.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/utf8.h"
#include "tensor/print.h"
#include "tensor/views.h"

namespace minigpt::lessons {
namespace {

// East Asian Wide and Fullwidth, as far as Chinese prose and its punctuation need them (Unicode Standard Annex 11).
bool is_wide(char32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x20000 && c <= 0x3FFFD);
}

bool closes(char32_t c) {
  return std::u32string_view(U"，。；：！？、）》」』”’…").find(c) != std::u32string_view::npos;
}
bool opens(char32_t c) { return std::u32string_view(U"（《「『“‘").find(c) != std::u32string_view::npos; }

int width_of(std::u32string_view text) {
  int width = 0;
  for (char32_t c : text) width += is_wide(c) ? 2 : 1;
  return width;
}

// Pieces between which a line may be broken; a piece keeps the blanks that follow it.
std::vector<std::u32string> pieces_of(std::u32string_view text) {
  std::vector<std::u32string> pieces;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char32_t c = text[i], before = i == 0 ? U' ' : text[i - 1];
    const bool may_break = i == 0 || (c != U' ' && before == U' ') ||
                           ((is_wide(c) || is_wide(before)) && c != U' ' && !closes(c) && !opens(before));
    if (may_break) pieces.emplace_back();
    pieces.back() += c;
  }
  return pieces;
}

void wrap_line(std::u32string_view text, int columns, std::u32string& out) {
  int used = 0;
  for (const std::u32string& piece : pieces_of(text)) {
    const std::u32string_view word = std::u32string_view(piece).substr(0, piece.find_last_not_of(U' ') + 1);
    if (used > 0 && used + width_of(word) > columns) {
      while (out.back() == U' ') out.pop_back();
      out += U'\n';
      used = 0;
    }
    out += piece;
    used += width_of(piece);
  }
  while (!out.empty() && out.back() == U' ') out.pop_back();
}

// How all numbers of one tensor are written.
class Digits {
 public:
  explicit Digits(const Tensor& x) : floating_(is_floating(x.dtype())) {
    const Tensor row = reshape(x, {x.numel()});
    double high = 0;
    for (std::int64_t i = 0; i < row.numel(); ++i) {
      const double v = row.at({i});
      if (!std::isfinite(v)) continue;
      high = std::max(high, std::fabs(v));
      whole_ = whole_ && v == std::nearbyint(v);
    }
    tiny_ = high > 0 && high < 5e-5;
    for (std::int64_t i = 0; i < row.numel(); ++i) width_ = std::max(width_, plain(row.at({i})).size());
  }
  std::string operator()(double v) const { return fmt::format("{:>{}}", plain(v), width_); }

 private:
  std::string plain(double v) const {
    if (std::isnan(v)) return "nan";
    if (!floating_) return fmt::format("{:.0f}", v);
    if (!std::isfinite(v) || (tiny_ && v == 0)) return fmt::format("{:.0f}", v);
    if (tiny_) return fmt::format("{:.4e}", v);
    // Not "-0.0000".
    if (!whole_) return fmt::format("{:.4f}", std::fabs(v) < 5e-5 ? 0.0 : v);
    return fmt::format("{:.0f}.", v + 0.0);
  }

  bool floating_, whole_ = true, tiny_ = false;
  std::size_t width_ = 1;
};

std::string block(const Tensor& x, int indent, const Digits& digits) {
  if (x.rank() == 0) return digits(x.item());
  std::string text = "[";
  for (std::int64_t i = 0; i < x.dim(0); ++i) {
    if (i > 0 && x.rank() == 1) text += ", ";
    if (i > 0 && x.rank() > 1)
      text += "," + std::string(static_cast<std::size_t>(x.rank() - 1), '\n') +
              std::string(static_cast<std::size_t>(indent + 1), ' ');
    text += block(select(x, 0, i), indent + 1, digits);
  }
  return text + "]";
}

}  // namespace

int text_width(std::string_view text) { return width_of(utf8_decode(text, "text").text); }

std::string wrap(std::string_view text, int columns) {
  const std::u32string all = utf8_decode(text, "text").text;
  std::u32string out;
  for (std::size_t begin = 0; begin <= all.size();) {
    const std::size_t end = std::min(all.find(U'\n', begin), all.size());
    if (begin > 0) out += U'\n';
    wrap_line(std::u32string_view(all).substr(begin, end - begin), columns, out);
    begin = end + 1;
  }
  return utf8_encode(out);
}

std::string numbers(const Tensor& x, int indent) {
  constexpr std::int64_t kMaxNumbers = 1000;
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  if (x.numel() > kMaxNumbers || x.numel() == 0) return blanks + to_string(x);
  return blanks + block(x, indent, Digits(x));
}

}  // namespace minigpt::lessons
