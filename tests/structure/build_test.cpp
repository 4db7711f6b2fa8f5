// How the project is built: optimised by default, from nothing but a compiler and a few packages.

#include <cstdlib>
#include <regex>

#include "tests/nn/temporary_folder.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

bool run(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

TEST_CASE("P-02: a build without a build type is a Release build; one that was asked for is that one") {
  const struct {
    const char* options;
    const char* line;
  } cases[] = {{"", "CMAKE_BUILD_TYPE:STRING=Release\n"},
               {"-DCMAKE_BUILD_TYPE=Debug", "CMAKE_BUILD_TYPE:STRING=Debug\n"}};
  for (const auto& c : cases) {
    CAPTURE(c.options);
    const TemporaryFolder folder;
    const std::string build = (folder.path() / "build").string();
    REQUIRE(run("env -u CMAKE_BUILD_TYPE cmake -S '" + kRoot.string() + "' -B '" + build +
                "' -DMINIGPT_COMMAND=OFF -DMINIGPT_TESTS=OFF -DCMAKE_CXX_COMPILER=" MINIGPT_CXX_COMPILER " " +
                c.options));
    CHECK(read_text(build + "/CMakeCache.txt").find(c.line) != std::string::npos);
    // The optimiser is in the command line of every file of the library.
    const std::string commands = read_text(build + "/compile_commands.json");
    if (*c.options == '\0') CHECK(commands.find("-O3") != commands.npos);
  }
}

TEST_CASE(
    "N-09, I-01: no command line of this build holds a flag that changes arithmetic or needs this CPU") {
  const std::string commands = read_text(MINIGPT_BINARY_DIR "/compile_commands.json");
  const std::regex forbidden(
      R"(-ffast-math|-Ofast|-funsafe-math|-ffinite-math-only|-fassociative-math|-freciprocal-math|-fno-signed-zeros|-march=native|-mtune=native|-mcpu=native)");
  int files = 0;
  for (const std::string& line : lines_of(commands)) {
    if (line.find("\"command\"") == line.npos) continue;
    ++files;
    std::smatch match;
    CHECK_MESSAGE(!std::regex_search(line, match, forbidden), match.str() << " in " << line);
    CHECK_MESSAGE(line.find("-ffp-contract=off") != line.npos, line);
  }
  CHECK(files > 100);
}

TEST_CASE("I-05: nothing is fetched while building, and neither OpenMP, BLAS, Python nor Git is looked for") {
  const std::regex wanted(
      R"(find_package\(\s*(OpenMP|BLAS|LAPACK|MKL|Python\w*|Git)\b|FetchContent|ExternalProject|-fopenmp|\bgit\b)",
      std::regex::icase);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot / "tools" / "cmake"))
    if (entry.is_regular_file()) {
      ++files;
      std::smatch match;
      const std::string text = read_text(entry.path());
      CHECK_MESSAGE(!std::regex_search(text, match, wanted), entry.path().string() << ": " << match.str());
    }
  CHECK(files >= 4);
  for (const char* file : {"CMakeLists.txt", "tests/CMakeLists.txt"}) {
    std::smatch match;
    const std::string text = read_text(kRoot / file);
    CHECK_MESSAGE(!std::regex_search(text, match, wanted), file << ": " << match.str());
  }
  // Optional parts say whether they were found.
  const std::string report = read_text(kRoot / "tools/cmake/report.cmake");
  CHECK(report.find("message(STATUS") != report.npos);
}

}  // namespace
}  // namespace minigpt::test
