// The kernels are compiled once per instruction set, and one program holds all versions. A symbol that two sets share,
// or that other code might define too, would leave the choice to the linker: the program could then run AVX-512 code on
// a CPU without it (I-01).

#include <map>

#include "tests/structure/command_output.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

struct Symbol {
  char kind;  // as nm: upper case is visible to other files; W, V and u may be defined more than once
  std::string name;
};

std::vector<Symbol> parse_nm(std::string_view text) {
  std::vector<Symbol> symbols;
  for (const std::string& line : lines_of(text)) {
    const auto blank = line.find(' ');  // ADDRESS KIND NAME; lines with file names have none
    if (blank == line.npos || line.size() < blank + 4 || line[blank + 2] != ' ') continue;
    symbols.push_back({line[blank + 1], line.substr(blank + 3)});
  }
  return symbols;
}

// What is wrong with the symbols of several sets, one line each.
std::vector<std::string> complaints(const std::map<std::string, std::vector<Symbol>>& sets) {
  std::vector<std::string> list;
  std::map<std::string, std::string> owner;
  for (const auto& [set, symbols] : sets) {
    for (const Symbol& s : symbols) {
      const bool many = s.kind == 'W' || s.kind == 'V' || s.kind == 'u' || s.kind == 'w' || s.kind == 'v';
      const bool visible = many || (s.kind >= 'A' && s.kind <= 'Z');
      if (!visible) continue;
      if (s.name.find("minigpt::" + set + "::") == s.name.npos)
        list.push_back(set + ": " + s.name + " lies outside minigpt::" + set);
      const auto [known, fresh] = owner.emplace(s.name, set);
      if (!fresh && known->second != set)
        list.push_back(s.name + " is in " + set + " and in " + known->second);
    }
  }
  return list;
}

// The build writes one list of object files per set: kernel_objects_<set>.txt.
[[maybe_unused]] std::map<std::string, std::vector<Symbol>> built_sets() {
  std::map<std::string, std::vector<Symbol>> sets;
  for (const auto& entry : std::filesystem::directory_iterator(MINIGPT_BINARY_DIR "/tests")) {
    const std::string name = entry.path().filename().string();
    const std::string_view prefix = "kernel_objects_", suffix = ".txt";
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    const std::string set = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    std::string command = "nm -C --defined-only";
    for (const std::string& object : lines_of(read_text(entry.path()))) command += " '" + object + "'";
    sets[set] = parse_nm(output_of(command));
  }
  return sets;
}

#if !defined(MINIGPT_INSTRUMENTED)  // sanitizers and line counters bring symbols of their own
TEST_CASE(
    "I-01: no symbol of the kernels is shared between instruction sets, or lies outside their namespaces") {
  const auto sets = built_sets();
  REQUIRE(sets.contains("scalar"));
  for (const auto& set : sets)
    CHECK_MESSAGE(set.second.size() >= 8, set.first << ": too few symbols; is nm there?");
  for (const std::string& line : complaints(sets)) FAIL_CHECK(line);
}
#endif

TEST_CASE("I-01: the check finds shared and foreign symbols") {
  const auto good =
      parse_nm("file.o:\n0000000000000000 T minigpt::avx2::bind(int)\n0000000000000010 t local\n");
  CHECK(good.size() == 2);
  CHECK(complaints({{"avx2", good}}).empty());
  const auto weak = parse_nm("0000000000000000 W std::vector<int>::clear()\n");
  CHECK(complaints({{"avx2", weak}}).size() == 1);
  CHECK(complaints({{"avx2", weak}, {"scalar", weak}}).size() == 3);
  const auto value = parse_nm("0000000000000000 u minigpt::kTable\n");
  CHECK(complaints({{"scalar", value}}).size() == 1);
}

}  // namespace
}  // namespace minigpt::test
