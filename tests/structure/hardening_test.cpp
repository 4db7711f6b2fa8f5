// The program as it was built: what it lets an attacker, or a bug, do. Read with readelf (binutils).
#if defined(MINIGPT_HARDENED)

#include <regex>

#include "tests/structure/command_output.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

bool contains(const std::string& text, const std::string& pattern) {
  return std::regex_search(text, std::regex(pattern));
}

// What a program lacks, given `readelf -W --file-header --segments --dynamic --dyn-syms`.
std::vector<std::string> complaints(const std::string& elf) {
  std::vector<std::string> list;
  const auto need = [&](bool there, const char* what) {
    if (!there) list.emplace_back(what);
  };
  need(contains(elf, R"(Type:\s+DYN)") && contains(elf, R"(FLAGS_1\)\s+Flags:.*\bPIE\b)"),
       "PIE: it lies at an address of its own in every process");
  need(contains(elf, R"(\n\s+GNU_RELRO\s)"), "RELRO: tables of addresses are read-only");
  need(contains(elf, R"(FLAGS\)\s+.*BIND_NOW|FLAGS_1\)\s+Flags:.*\bNOW\b)"),
       "BIND_NOW: all of these tables, because functions are looked up at the start");
  need(contains(elf, R"(\n\s+GNU_STACK\s.*\sRW\s+0x)"), "NX: a stack that is not executable");
  need(!contains(elf, R"(\n\s+LOAD\s.*\sRWE\s+0x)"), "memory is writable or executable, never both");
  need(!contains(elf, R"(\(TEXTREL\))"), "code without relocations");
  need(contains(elf, R"(UND __stack_chk_fail\b)"), "stack canaries");
  need(contains(elf, R"(UND _ZSt21__glibcxx_assert_fail|UND _ZSt\d+__glibcxx_assert_fail)"),
       "checked indices of standard containers");
#if defined(MINIGPT_FORTIFIED)
  need(contains(elf, R"(UND __\w+_chk@)"), "checked buffers of C functions");
#endif
  return list;
}

TEST_CASE("the command is hardened") {
  const std::string elf = output_of(
      "readelf -W --file-header --segments --dynamic --dyn-syms '" MINIGPT_BINARY_DIR "/minigpt' 2>&1");
  REQUIRE_MESSAGE(elf.find("ELF Header") != elf.npos, "readelf says: " << elf);
  for (const std::string& line : complaints(elf)) FAIL_CHECK("build/minigpt lacks " << line);
}

TEST_CASE("every assembler file says that it needs no executable stack") {
  namespace fs = std::filesystem;
  int count = 0;
  for (const std::string& layer : kLayers)
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / layer)) {
      if (entry.path().extension() != ".S") continue;
      ++count;
      CHECK_MESSAGE(contains(read_text(entry.path()), R"(\.section \.note\.GNU-stack, *"")"),
                    entry.path().string());
    }
  CHECK(count >= 2);
}

TEST_CASE("the check of a program finds what is missing") {
  const auto lacks = [](const char* source, const char* flags) {
    const std::string program = MINIGPT_BINARY_DIR "/tests/hardening_probe";
    const std::string said = output_of(std::string("echo '") + source + "' | " + MINIGPT_CXX_COMPILER +
                                       " -x c++ " + flags + " -o '" + program + "' - 2>&1");
    REQUIRE_MESSAGE(std::filesystem::exists(program), said);
    const std::string elf =
        output_of("readelf -W --file-header --segments --dynamic --dyn-syms '" + program + "' 2>&1");
    std::filesystem::remove(program);
    std::string all;
    for (const std::string& line : complaints(elf)) all += line.substr(0, line.find(':')) + "; ";
    return all;
  };
  const std::string all =
      lacks("int main() {}", "-no-pie -fno-stack-protector -Wl,-z,lazy,-z,norelro,-z,execstack");
  for (const char* what : {"PIE", "RELRO", "BIND_NOW", "NX", "stack canaries", "checked indices"})
    CHECK_MESSAGE(all.find(what) != all.npos, what << " is not among: " << all);
}

}  // namespace
}  // namespace minigpt::test

#endif
