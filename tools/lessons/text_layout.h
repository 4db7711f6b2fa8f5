#pragma once
// Text and numbers as they stand on a page.

#include <string>
#include <string_view>

#include "tensor/tensor.h"

namespace minigpt::lessons {

// Columns a text takes in a terminal: 2 for a Chinese character or a full-width sign, else 1.
int text_width(std::string_view text);

// Breaks a text at blanks, or between Chinese characters (not before closing or after opening punctuation), so that no
// line is wider than `columns` unless a single word is. Line breaks in the text stay.
std::string wrap(std::string_view text, int columns);

// Numbers in brackets as PyTorch prints them, every line after `indent` blanks: four decimals, whole numbers as "2.", with
// scientific notation only where every number would round to 0.0000. More than 1000 numbers are abbreviated.
std::string numbers(const Tensor& x, int indent);

}  // namespace minigpt::lessons
