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

struct Program {
  std::string layout;  // file header, segments, dynamic section
  std::string symbols;
};

Program read_program(const std::string& path) {
  const std::string quoted = " '" + path + "' 2>&1";
  return {output_of("readelf -W --file-header --segments --dynamic" + quoted),
          output_of("readelf -W --syms" + quoted)};
}

// What a program lacks.
std::vector<std::string> complaints(const Program& program) {
  const std::string& elf = program.layout;
  const auto uses = [&](const char* name) { return program.symbols.find(name) != std::string::npos; };
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
  need(uses(" __stack_chk_fail"), "stack canaries");
#if defined(__GLIBCXX__)  // under its name since GCC 12, and before
  need(uses("__glibcxx_assert_fail") || uses("__replacement_assert"),
       "checked indices of standard containers");
#endif
#if defined(MINIGPT_FORTIFIED)
  need(uses("_chk@"), "checked buffers of C functions");
#endif
  return list;
}

TEST_CASE("the command is hardened") {
  const Program program = read_program(MINIGPT_BINARY_DIR "/minigpt");
  REQUIRE_MESSAGE(program.layout.find("ELF Header") != std::string::npos, "readelf says: " << program.layout);
  for (const std::string& line : complaints(program)) FAIL_CHECK("build/minigpt lacks " << line);
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
  const std::string path = MINIGPT_BINARY_DIR "/tests/hardening_probe";
  const std::string said =
      output_of("echo 'int main() {}' | " MINIGPT_CXX_COMPILER
                " -x c++ -no-pie -fno-stack-protector -Wl,-z,lazy,-z,norelro,-z,execstack -o '" +
                path + "' - 2>&1");
  REQUIRE_MESSAGE(std::filesystem::exists(path), said);
  const std::vector<std::string> found = complaints(read_program(path));
  std::filesystem::remove(path);
  for (const char* what : {"PIE", "RELRO", "BIND_NOW", "NX", "stack canaries"})
    CHECK_MESSAGE(std::any_of(found.begin(), found.end(), [&](auto& line) { return line.starts_with(what); }),
                  what << " is not noticed");
}

}  // namespace
}  // namespace minigpt::test

#endif
