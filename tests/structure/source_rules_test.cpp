// House rules that a reader of the code relies on, checked on the text of every file.

#include <regex>
#include <set>

#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

// A file without its comments, so that a rule may be explained in words.
std::string without_comments(std::string_view text) {
  std::string code;
  for (const std::string& line : lines_of(text)) code += line.substr(0, line.find("//")) + "\n";
  return code;
}

// Fails for every file of the layers whose code matches.
void check_absent(const std::string& pattern, const std::vector<std::string>& allowed_in = {}) {
  const std::regex wanted(pattern);
  for (const std::string& file : source_files(kLayers)) {
    if (std::find(allowed_in.begin(), allowed_in.end(), file) != allowed_in.end()) continue;
    const std::string code = without_comments(read_text(kRoot / file));
    std::smatch match;
    CHECK_MESSAGE(!std::regex_search(code, match, wanted), file << ": " << match.str());
  }
}

TEST_CASE("size: no file has more than 400 lines, and half of them fewer than 150") {
  std::vector<std::string> folders = kLayers;
  folders.push_back("tests");
  std::vector<std::size_t> lengths;
  for (const std::string& file : source_files(folders)) {
    const std::size_t length = lines_of(read_text(kRoot / file)).size();
    CHECK_MESSAGE(length <= 400, file << " has " << length << " lines");
    lengths.push_back(length);
  }
  std::sort(lengths.begin(), lengths.end());
  REQUIRE(lengths.size() > 100);
  CHECK(lengths[lengths.size() / 2] < 150);
}

TEST_CASE("headers: each begins with #pragma once") {
  for (const std::string& file : source_files(kLayers))
    if (file.ends_with(".h")) CHECK_MESSAGE(read_text(kRoot / file).starts_with("#pragma once\n"), file);
}

TEST_CASE("operations: one header each, with its test beside it in the mirror") {
  int count = 0;
  for (const std::string& file : source_files({"autograd/ops"})) {
    if (!file.ends_with(".h")) continue;
    ++count;
    const std::string test = "tests/" + file.substr(0, file.size() - 2) + "_test.cpp";
    CHECK_MESSAGE(std::filesystem::exists(kRoot / test), test << " is missing");
  }
  CHECK(count > 30);
}

TEST_CASE("C-09: input is never checked with assert, which is not there in a release build") {
  check_absent(R"(<cassert>|<assert\.h>|(^|[^_a-zA-Z])assert\s*\()");
}

TEST_CASE("I-03: no names outside the standard, such as M_PI") {
  check_absent(R"(\bM_(PI|E|LN2|SQRT2|PI_2)\b)");
}

TEST_CASE("I-04: no attributes of one compiler") { check_absent(R"(__attribute__|__declspec|#pragma omp)"); }

TEST_CASE("I-04: no name of a structured binding in a message, which Clang 14 does not compile") {
  const std::regex binding(R"(auto&{0,2} \[([^\]]+)\])"), message(R"(\b(CAPTURE|INFO)\((.*)\);)"),
      word(R"(\w+)");
  const auto words = [&](const std::string& text) {
    return std::set<std::string>(std::sregex_token_iterator(text.begin(), text.end(), word), {});
  };
  for (const std::string& file : source_files({"tests"})) {
    std::set<std::string> bound;  // since the last line that ends a function
    for (const std::string& line : lines_of(read_text(kRoot / file))) {
      if (line.starts_with("}")) bound.clear();
      std::smatch match;
      if (std::regex_search(line, match, binding)) bound.merge(words(match.str(1)));
      if (!std::regex_search(line, match, message)) continue;
      for (const std::string& name : words(match.str(2)))
        CHECK_MESSAGE(!bound.contains(name), file << ": " << line);
    }
  }
}

TEST_CASE("T-08: random numbers come from our own streams alone") {
  check_absent(R"(_distribution\b|\bsrand\s*\(|\brand\s*\(|std::shuffle|std::mt19937)");
  check_absent(R"(random_device)", {"tools/arguments.cpp"});  // a fresh seed, which is printed
}

TEST_CASE(
    "N-09, I-01: no flag that changes arithmetic or needs this CPU, in anything that builds the project") {
  const std::regex forbidden(
      R"(-ffast-math|-Ofast|-funsafe-math|-ffinite-math-only|-fassociative-math|-march=native|-mtune=native)");
  for (const char* file :
       {"CMakeLists.txt", "tests/CMakeLists.txt", "tests/consumer/CMakeLists.txt", "tools/quickstart.sh",
        "tools/test.sh", "tools/packages.sh", ".ci/run", "tools/cmake/minigptConfig.cmake.in"}) {
    std::smatch match;
    const std::string text = read_text(kRoot / file);
    CHECK_MESSAGE(!std::regex_search(text, match, forbidden), file << ": " << match.str());
  }
}

TEST_CASE("the checks find what they are for") {
  CHECK(without_comments("a; // assert(x)\nb;\n") == "a; \nb;\n");
  const std::regex assertion(R"((^|[^_a-zA-Z])assert\s*\()");
  CHECK(std::regex_search("  assert(n > 0);", assertion));
  CHECK_FALSE(std::regex_search("static_assert(n > 0);", assertion));
}

}  // namespace
}  // namespace minigpt::test
