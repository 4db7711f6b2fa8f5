#pragma once
// How wide a text is on a terminal, and labels that show what they stand for.

#include <string>
#include <string_view>

namespace minigpt::figures {

// Columns that UTF-8 text takes on a terminal: 2 for East Asian wide characters and emoji, 0 for combining marks, 1 for the
// rest (Unicode Standard Annex 11, in coarse ranges).   "注意 a" -> 6.
// Throws Error if the bytes are not UTF-8.
int display_width(std::string_view text);

// The text, cut to at most `columns` and filled with blanks to exactly that many. What is cut off is marked by "…".
std::string fit_left(std::string_view text, int columns);   // "cat  "
std::string fit_right(std::string_view text, int columns);  // "  cat"

// A token as a label: line breaks, tabs and other invisible characters as escapes ("\n"), blanks at either end as "␣".
std::string visible_label(std::string_view token);

}  // namespace minigpt::figures
