// What may lean on what: tensor <- autograd <- nn <- models <- tools, and kernels on nothing but kernels.

#include <set>

#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

struct Include {
  std::string target;
  bool own;  // "..." rather than <...>
};

std::vector<Include> includes_of(std::string_view text) {
  std::vector<Include> list;
  for (const std::string& line : lines_of(text)) {
    const std::string t = trimmed(line);
    if (!t.starts_with("#include")) continue;
    const auto begin = t.find_first_of("\"<");
    const auto end = t.find_first_of("\">", begin + 1);
    if (begin != t.npos && end != t.npos)
      list.push_back({t.substr(begin + 1, end - begin - 1), t[begin] == '"'});
  }
  return list;
}

// The position of a path's layer, -1 if it is in none.
int rank_of(const std::string& path) {
  const auto found = std::find(kLayers.begin(), kLayers.end(), path.substr(0, path.find('/')));
  return found == kLayers.end() ? -1 : static_cast<int>(found - kLayers.begin());
}

// What is wrong with the includes of a file, "" if nothing.
std::string complaint(const std::string& file, std::string_view text) {
  for (const Include& include : includes_of(text)) {
    if (!include.own) continue;
    const int rank = rank_of(include.target);
    if (rank < 0) return include.target + " is not written from the root, or outside the layers";
    if (rank > rank_of(file)) return include.target + " stands above it";
  }
  return "";
}

// The same for kernels, which are compiled once per instruction set: any inline function from elsewhere would exist in
// several versions under one name, and the linker might keep the one that an older CPU cannot run.
std::string kernel_complaint(std::string_view text) {
  static const std::set<std::string> c_headers = {"stddef.h", "stdint.h",    "math.h",    "float.h",
                                                  "string.h", "immintrin.h", "arm_neon.h"};
  for (const Include& include : includes_of(text)) {
    const bool own =
        include.target.starts_with("tensor/simd/") || include.target.starts_with("tensor/kernels/");
    if (include.own ? !own : !c_headers.contains(include.target))
      return include.target + " may not be included by a kernel";
  }
  return "";
}

TEST_CASE("layers: no file includes one of a layer above it") {
  const std::vector<std::string> files = source_files(kLayers);
  CHECK(files.size() > 100);
  for (const std::string& file : files) CHECK_MESSAGE(complaint(file, read_text(kRoot / file)) == "", file);
}

TEST_CASE("layers: kernels include kernels, simd and C headers only") {
  const std::vector<std::string> files = source_files({"tensor/simd", "tensor/kernels"});
  CHECK(files.size() > 10);
  for (const std::string& file : files) CHECK_MESSAGE(kernel_complaint(read_text(kRoot / file)) == "", file);
}

TEST_CASE("layers: the checks find what they are for") {
  CHECK(complaint("nn/a.h", "#include \"tensor/shape.h\"\n  #include <vector>\n#include \"nn/b.h\"\n") == "");
  CHECK(complaint("nn/a.h", "#pragma once\n#include \"models/gpt.h\"\n") == "models/gpt.h stands above it");
  CHECK(complaint("nn/a.h", "#include \"b.h\"\n") != "");
  CHECK(complaint("nn/a.h", "#include \"tests/b.h\"\n") != "");
  CHECK(kernel_complaint("#include <stdint.h>\n#include \"tensor/simd/vec.h\"\n") == "");
  CHECK(kernel_complaint("#include <vector>\n") != "");
  CHECK(kernel_complaint("#include \"tensor/shape.h\"\n") != "");
}

}  // namespace
}  // namespace minigpt::test
