// What error messages look like, whatever they quote.

#include "tensor/error.h"

#include <doctest/doctest.h>

namespace minigpt::test {
namespace {

using namespace std::string_literals;

TEST_CASE("one_line: what is printable stays as it is") {
  CHECK(one_line("") == "");
  CHECK(one_line("[op] FILE: 1 != 2 \\n") == "[op] FILE: 1 != 2 \\n");
  CHECK(one_line("na\u00EFve \u6771\u4EAC \U0001F600") == "na\u00EFve \u6771\u4EAC \U0001F600");
}

TEST_CASE("one_line: nothing ends the line, moves the cursor or turns the direction of writing") {
  CHECK(one_line("a\nb\r\tc") == "a\\nb\\r\\tc");
  CHECK(one_line("\0\x1B[31m\x7F"s) == "\\u{0000}\\u{001B}[31m\\u{007F}");
  CHECK(one_line("\u0085\u2028\u202E\u2066\u200F") == "\\u{0085}\\u{2028}\\u{202E}\\u{2066}\\u{200F}");
}

TEST_CASE("one_line: bytes that are not UTF-8 are shown as numbers") {
  CHECK(one_line("a\xFF\xC3") == "a\\xFF\\xC3");
  CHECK(one_line("\xC0\xAF \xED\xA0\x80 \xF4\x90\x80\x80 \xE6\x9D") ==
        "\\xC0\\xAF \\xED\\xA0\\x80 \\xF4\\x90\\x80\\x80 \\xE6\\x9D");
  CHECK(one_line("\xE0\x80\x80 \xF0\x80\x80\x80") == "\\xE0\\x80\\x80 \\xF0\\x80\\x80\\x80");
}

TEST_CASE("one_line: of an endless text the start and the end are kept, in whole characters") {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    while (text.size() < 100000) text += "\U0001F600";
    const std::string line = one_line(text + "end");
    CHECK(line.size() < 4100);
    CHECK(line.ends_with("end"));
    CHECK(line.find("bytes ...]") != line.npos);
    CHECK(line.find("\\x") == line.npos);
  }
  CHECK(one_line(std::string(4000, 'a')).size() == 4000);
}

TEST_CASE("errors carry one line") {
  CHECK(std::string(Error("a\nb").what()) == "a\\nb");
  CHECK(std::string(RunError("a\nb").what()) == "a\\nb");
  CHECK_THROWS_WITH_AS(fail("op", "{}", "x\xFF"), "[op] x\\xFF", Error);
  CHECK_THROWS_WITH_AS(check(false, "op", "{}", "x\x01"), "[op] x\\u{0001}", Error);
}

}  // namespace
}  // namespace minigpt::test
