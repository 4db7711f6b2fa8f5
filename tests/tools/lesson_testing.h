#pragma once
// Running a lesson in this process, and looking for its numbers.

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "tensor/error.h"
#include "tools/lessons/lessons.h"

namespace minigpt::test {

// The page of a lesson, with its answers. Exercises with a wrong answer throw.
inline std::string lesson_page(std::string_view name, bool chinese = false,
                               std::optional<std::uint64_t> seed = std::nullopt) {
  std::string text;
  lessons::PageOptions options;
  options.capture = &text;
  options.answers = true;
  options.chinese = chinese;
  options.seed = seed;
  lessons::Page page(options);
  lessons::find_lesson(name).run(page);
  CHECK_MESSAGE(page.exercises() >= 2, name << " has " << page.exercises() << " exercises");
  return text;
}

// Blanks are the printer's business: "[0.9544, 1.4950]" is found in any columns.
inline std::string without_blanks(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != ' ' && c != '\n') out += c;
  return out;
}

// Both languages show these numbers.
inline void check_lesson_shows(std::string_view name, std::initializer_list<std::string_view> numbers) {
  for (const bool chinese : {false, true}) {
    const std::string page = without_blanks(lesson_page(name, chinese));
    for (const std::string_view wanted : numbers)
      CHECK_MESSAGE(page.find(without_blanks(wanted)) != std::string::npos,
                    name << (chinese ? " (zh)" : "") << " does not show " << wanted);
  }
}

}  // namespace minigpt::test
