// The whole corpus of the fuzzers, with any compiler: what once broke something must not break it again.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "models/text_file.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/targets.h"

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

const fs::path kCorpus = fs::path(MINIGPT_SOURCE_DIR) / "tests/fuzz/corpus";

// Runs a target and gives what it complains about, "" if nothing.
std::string complaint(const FuzzTarget& target, std::string_view input) {
  try {
    target.run(std::as_bytes(std::span(input.data(), input.size())));
    return "";
  } catch (const std::exception& e) {
    return e.what();
  }
}

TEST_CASE("fuzzing: every file of the corpus, and each cut short, keeps all promises") {
  for (const FuzzTarget& target : kFuzzTargets) {
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(kCorpus / target.name)) {
      const std::string bytes = read_file(entry.path(), "corpus");
      for (const std::size_t size : {bytes.size(), bytes.size() / 2}) {
        const std::string text = complaint(target, std::string_view(bytes).substr(0, size));
        CHECK_MESSAGE(text == "", target.name << "/" << entry.path().filename().string() << ", " << size
                                              << " bytes: " << text);
      }
      ++files;
    }
    CAPTURE(target.name);
    CHECK(files >= 10);
  }
}

TEST_CASE("fuzzing: a broken promise is noticed") {
  CHECK_THROWS_AS(require(false, "x"), Violation);
  CHECK_THROWS_AS(require_message(""), Violation);
  CHECK_THROWS_AS(require_message("a\nb"), Violation);
  CHECK_THROWS_AS(require_message("a\xFF"), Violation);
  CHECK_THROWS_AS(require_message("\u2028"), Violation);
  CHECK_THROWS_AS(require_message(std::string(40000, 'a')), Violation);
  CHECK_THROWS_AS(accepted([] { throw std::runtime_error("not one of ours"); }), std::runtime_error);
  CHECK_FALSE(accepted([] { throw Error("a\nb"); }));
}

TEST_CASE("fuzzing: the corpus stays small") {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kCorpus))
    if (entry.is_regular_file()) bytes += entry.file_size();
  CHECK(bytes < 300000);
}

}  // namespace
}  // namespace minigpt::test
