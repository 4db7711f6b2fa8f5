// What the program needs on the machine that runs it.

#include <regex>
#include <set>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

TEST_CASE("I-05: the program is linked with the C++ and C libraries and fmt, and with nothing else") {
  std::FILE* pipe = ::popen("readelf -d '" MINIGPT_BINARY_DIR "/minigpt'", "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
  REQUIRE(::pclose(pipe) == 0);
  // "0x0000000000000001 (NEEDED)  Shared library: [libfmt.so.9]"
  const std::regex needed(R"re(\(NEEDED\)[^\[]*\[([^\]]+)\])re");
  const std::regex allowed(
      R"((libfmt|libstdc\+\+|libc\+\+|libc\+\+abi|libunwind|libgcc_s|libm|libc|libpthread|libdl|librt|libasan|libubsan|libtsan|ld-linux[a-z0-9_-]*)\.so[0-9.]*)");
  std::set<std::string> libraries;
  for (std::sregex_iterator it(text.begin(), text.end(), needed), end; it != end; ++it) {
    libraries.insert((*it)[1]);
    CHECK_MESSAGE(std::regex_match((*it)[1].str(), allowed), (*it)[1].str());
  }
  CHECK(libraries.size() >= 3);
}

TEST_CASE(
    "I-01: on an emulated CPU without AVX it trains with the kernels that fit, and says so when asked for "
    "others") {
  const auto shell = [](const std::string& command) {
    std::FILE* pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    ::pclose(pipe);
    return text;
  };
  const std::string old_cpu = "qemu-x86_64 -cpu qemu64 '" MINIGPT_BINARY_DIR "/minigpt' ";
  if (!contains(shell("qemu-x86_64 --version"), "qemu-x86_64 version") ||
      !contains(shell("uname -m"), "x86_64")) {
    MESSAGE("skipped: there is no qemu-x86_64, or this is no x86-64");
    return;
  }
  const std::string info = shell(old_cpu + "info");
  if (contains(info, "Sanitizer")) {
    MESSAGE("skipped: sanitizers do not run under emulation");
    return;
  }
  CHECK_MESSAGE(contains(info, "AVX2 and FMA: no, AVX-512F: no"), info);
  CHECK(contains(info, "kernels: scalar (available: scalar;"));
  const Desk desk;
  desk.write("t.txt", english_text());
  const std::string train = shell("cd '" + desk.path().string() + "'; " + old_cpu +
                                  "train --data t.txt --out m --steps 2" + std::string(kTiny));
  CHECK_MESSAGE(contains(train, "scalar kernels"), train);
  CHECK(contains(train, "model saved in m"));
  CHECK(
      contains(shell("MINIGPT_ISA=avx2 " + old_cpu + "info"), "this CPU has no 'avx2'; it can use: scalar"));
}

TEST_CASE("I-05, P-01: in an environment with nothing in it, a model is trained and writes") {
  const Desk desk;
  desk.write("t.txt", english_text());
  RunOptions bare;
  bare.environment = {"PATH=", "HOME=/nonexistent", "LANG=", "LC_ALL=", "TMPDIR=/nonexistent", "TERM="};
  const Outcome run = desk.run("train --data t.txt --out m --steps 2" + std::string(kTiny), bare);
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(desk.run("sample --model m --tokens 5", bare).code == 0);
}

}  // namespace
}  // namespace minigpt::test
