#include "nn/checksum.h"

#include <doctest/doctest.h>

#include <set>

namespace minigpt {
namespace {

TEST_CASE("checksum: the numbers of xxhsum -H64") {
  CHECK(checksum("") == "ef46db3751d8e999");
  CHECK(checksum("a") == "d24ec4f1a98c6e5b");
  CHECK(checksum("abc") == "44bc2cf5ad770999");
  CHECK(checksum("abcd") == "de0327b0d25d92cc");  // four bytes at the end are one word
  CHECK(checksum("0123456789ab") == "862e292326b8a4fc");
  CHECK(checksum("0123456789abcdef0123456789abcdef") == "642a94958e71e6c5");
  CHECK(checksum("The quick brown fox jumps over the lazy dog, and nobody asks why.") == "4a493800eb0ea5e5");
}

TEST_CASE("checksum: how the bytes are cut into pieces does not matter") {
  std::string text;
  for (int i = 0; i < 150; ++i) text += static_cast<char>(i * 37);
  for (std::size_t first = 0; first <= text.size(); first += 7)
    for (std::size_t second = first; second <= text.size(); second += 11) {
      Checksum sum;
      sum.add(std::string_view(text).substr(0, first));
      sum.add(std::string_view(text).substr(first, second - first));
      sum.add(std::string_view(text).substr(second));
      if (sum.text() != checksum(text)) FAIL_CHECK("cut at " << first << " and " << second);
    }
}

TEST_CASE("checksum: every single bit, and every length of zeros, gives another one") {
  std::set<std::string> seen;
  std::string text(70, '\0');
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    text[bit / 8] = static_cast<char>(1 << bit % 8);
    seen.insert(checksum(text));
    text[bit / 8] = '\0';
  }
  for (std::size_t length = 0; length <= text.size(); ++length) seen.insert(checksum(text.substr(0, length)));
  CHECK(seen.size() == 8 * 70 + 71);
}

}  // namespace
}  // namespace minigpt
