// What the fuzzer of the command line relies on.

#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

TEST_CASE("commands: each says where its work begins, so that a rehearsal can stop there") {
  int count = 0;
  for (const std::string& file : source_files({"tools"})) {
    if (!file.ends_with("_command.cpp")) continue;
    ++count;
    CHECK_MESSAGE(read_text(kRoot / file).find("work_begins();") != std::string::npos,
                  file << " does not call work_begins() (tools/rehearsal.h)");
  }
  CHECK(count >= 12);
}

}  // namespace
}  // namespace minigpt::test
