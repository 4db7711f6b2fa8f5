// Flags that let the compiler change arithmetic are refused, wherever they come from (N-09).
//
// Three lines of defence: tensor/simd/no_fast_math.h, which every own file and every user of the public headers gets; the
// build, for flags that set no macro; and the commands themselves, as the build wrote them down.

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/structure/command_output.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

const char* const kMessage = "minigpt needs IEEE arithmetic";

// What the preprocessor, which is where an #error speaks, says about a file that includes `header`, given `flags`.
std::string compile(const std::string& header, const std::string& flags) {
  return output_of("echo '#include \"" + header + "\"' | " + MINIGPT_CXX_COMPILER +
                   " -std=c++20 -E -o /dev/null -x c++ -I '" + kRoot.string() + "' " + flags + " - 2>&1");
}

// Flags of one kind, and those that only GCC tells the source code about.
std::vector<std::string> refused_flags() {
  std::vector<std::string> flags = {"-ffast-math", "-Ofast", "-ffinite-math-only"};
  if (output_of(MINIGPT_CXX_COMPILER " -dM -E -x c++ /dev/null").find("__clang__") == std::string::npos) {
    flags.insert(flags.end(), {"-funsafe-math-optimizations", "-freciprocal-math", "-fno-signed-zeros",
                               "-fassociative-math -fno-signed-zeros -fno-trapping-math"});
  }
  return flags;
}

// What is wrong with one command of compile_commands.json.
std::vector<std::string> complaints(const std::string& command) {
  std::vector<std::string> list;
  static const std::regex forbidden(
      "(^| )(-ffast-math|-Ofast|-funsafe-math\\S*|-fassociative-math|-freciprocal-math|-ffinite-math-only|"
      "-fno-honor-nans|-fno-honor-infinities|-fno-signed-zeros|-fapprox-func|-ffp-model=fast|-march=\\S+|"
      "-mtune=native)(?= |$)");
  static const std::regex contraction("-ffp-contract=(\\w+)");
  std::smatch match;
  if (std::regex_search(command, match, forbidden)) list.push_back("has " + match.str());
  std::string last;
  for (std::sregex_iterator i(command.begin(), command.end(), contraction), end; i != end; ++i)
    last = (*i)[1];
  if (last != "off") list.push_back("does not end up with -ffp-contract=off");
  if (command.find("tensor/simd/no_fast_math.h") == std::string::npos)
    list.push_back("lacks tensor/simd/no_fast_math.h");
  return list;
}

TEST_CASE("N-09: who includes a public header with a flag like -ffast-math gets an error that says why") {
  for (const std::string header : {"tensor/tensor.h", "tensor/error.h", "tensor/bf16.h", "tensor/generator.h",
                                   "tensor/dispatch.h", "autograd/ops.h", "nn/module.h", "models/gpt.h"}) {
    CAPTURE(header);
    CHECK(compile(header, "-O2") == "");
    CHECK(compile(header, "-ffast-math").find(kMessage) != std::string::npos);
  }
}

TEST_CASE("N-09: so do the kernels, with every such flag") {
  for (const std::string& flag : refused_flags()) {
    CAPTURE(flag);
    CHECK(compile("tensor/simd/vec.h", flag).find(kMessage) != std::string::npos);
    CHECK(compile("tensor/kernels/gemm.cpp", "-O2 " + flag).find(kMessage) != std::string::npos);
  }
}

TEST_CASE("N-09: the build refuses flags that set no macro") {
  for (const std::string flag : {"-fassociative-math", "-ffp-contract=fast", "-Ofast"}) {
    CAPTURE(flag);
    const std::string said = output_of("cmake -DCMAKE_CXX_FLAGS='-g " + flag + "' -P '" +
                                       (kRoot / "tools/cmake/arithmetic_flags.cmake").string() + "' 2>&1");
    CHECK(said.find(kMessage) != std::string::npos);
    CHECK(said.find(flag) != std::string::npos);
  }
  CHECK(output_of("cmake -DCMAKE_CXX_FLAGS='-g -O2 -ffp-contract=off' -P '" +
                  (kRoot / "tools/cmake/arithmetic_flags.cmake").string() + "' 2>&1") == "");
}

TEST_CASE("N-09, I-01: no file of this build was compiled with such a flag, or for this CPU alone") {
  const auto commands = nlohmann::json::parse(read_text(MINIGPT_BINARY_DIR "/compile_commands.json"));
  int seen = 0;
  for (const auto& entry : commands) {
    const std::string file = entry["file"];
    if (!file.ends_with(".cpp")) continue;
    ++seen;
    for (const std::string& complaint : complaints(entry["command"])) FAIL_CHECK(file << " " << complaint);
  }
  CHECK(seen > 200);
}

TEST_CASE("the check of commands finds what it is for") {
  const std::string good = "c++ -O3 -ffp-contract=off -include /x/tensor/simd/no_fast_math.h -c a.cpp";
  CHECK(complaints(good).empty());
  CHECK(complaints(good + " -ffp-contract=fast").size() == 1);
  CHECK(complaints(good + " -march=native").size() == 1);
  CHECK(complaints(good + " -Ofast").size() == 1);
  CHECK(complaints("c++ -O3 -c a.cpp").size() == 2);
}

}  // namespace
}  // namespace minigpt::test
