// README.md and tests/README.md say what is true: files exist, code compiles and gives the stated numbers.

#include <regex>
#include <set>

#include "autograd/ops.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

// The code of the ```cpp blocks: lines of text without indentation; includes, using and empty lines left out.
std::vector<std::vector<std::string>> code_blocks(const std::string& text) {
  std::vector<std::vector<std::string>> blocks;
  bool inside = false;
  for (const std::string& line : lines_of(text)) {
    const std::string t = trimmed(line);
    if (t.starts_with("```")) {
      inside = t == "```cpp";
      if (inside) blocks.emplace_back();
    } else if (inside && !t.empty() && !t.starts_with("#include") && !t.starts_with("using namespace")) {
      blocks.back().push_back(t);
    }
  }
  return blocks;
}

TEST_CASE("E-02: the README's first example is this code, and gives what it says") {
  Variable w(Tensor::from<float>({1, 2, 3}, {3}), true);
  Variable loss = sum(w * w);
  loss.backward();
  // w.grad().value() is 2 w
  const float* g = w.grad().value().data<float>();
  for (int i = 0; i < 3; ++i) CHECK(g[i] == 2.0f * static_cast<float>(i + 1));
}

TEST_CASE("E-05: gradients of leaves add up, as the README's second example says") {
  Variable x(Tensor::scalar(5.0), true);
  (x * x).backward();  // x.grad() is 10
  CHECK(x.grad().item() == 10.0);
  (x * x).backward();  // x.grad() is 20: call x.zero_grad() in between for a fresh one
  CHECK(x.grad().item() == 20.0);
  x.zero_grad();
  (x * x).backward();
  CHECK(x.grad().item() == 10.0);
}

TEST_CASE("E-02: every C++ example of the README stands, line for line, in the tests above") {
  std::vector<std::string> own;
  for (const std::string& line : lines_of(read_text(kRoot / "tests/structure/readme_test.cpp")))
    if (!trimmed(line).starts_with("CHECK")) own.push_back(trimmed(line));
  // Spacing before a trailing comment is the formatter's business.
  const auto squeezed = [](std::string line) { return std::regex_replace(line, std::regex(" +"), " "); };
  for (std::string& line : own) line = squeezed(line);
  const auto blocks = code_blocks(read_text(kRoot / "README.md"));
  CHECK(blocks.size() >= 2);
  for (std::vector<std::string> block : blocks) {
    for (std::string& line : block) line = squeezed(line);
    CHECK_MESSAGE(std::search(own.begin(), own.end(), block.begin(), block.end()) != own.end(),
                  "not tested: " << block.front());
  }
}

TEST_CASE("E-04: every file that the documents name exists") {
  const std::regex path(
      R"((^|[^A-Za-z0-9_./-])((tensor|autograd|nn|models|tools|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]))");
  const std::regex link(R"(\]\(([^)#:]+)\))");  // not http:// and not #section
  for (const std::string& document :
       {std::string("README.md"), std::string("tests/README.md"), std::string("tests/reference/README.md")}) {
    const std::string text = read_text(kRoot / document);
    int count = 0;
    for (std::sregex_iterator it(text.begin(), text.end(), path), end; it != end; ++it, ++count) {
      const std::string name = (*it)[2];
      if (name == "autograd/ops/X.h") continue;  // X stands for any operation
      CHECK_MESSAGE(std::filesystem::exists(kRoot / name), document << " names " << name);
    }
    for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
      const std::filesystem::path target = (kRoot / document).parent_path() / (*it)[1].str();
      CHECK_MESSAGE(std::filesystem::exists(target), document << " links to " << (*it)[1].str());
    }
    CHECK(count > 0);
  }
}

TEST_CASE("E-04: every CMake option that the README names is one") {
  const std::string text = read_text(kRoot / "README.md"), cmake = read_text(kRoot / "CMakeLists.txt");
  const std::regex option(R"(-D(MINIGPT_[A-Z]+))");
  int count = 0;
  for (std::sregex_iterator it(text.begin(), text.end(), option), end; it != end; ++it, ++count)
    CHECK_MESSAGE(cmake.find((*it)[1].str()) != cmake.npos, (*it)[1].str());
  CHECK(count >= 2);
}

TEST_CASE("E-04: the table of tests/README.md names tests that exist") {
  // | D-01 | situation | `tests/tools/text_input_test.cpp`, `tests/models/text_dataset_test.cpp` "part of a name" |
  const std::regex row(R"(^\| ([A-Z]-[0-9]{2}) \|)");
  const std::regex entry(R"re(`(tests/[A-Za-z0-9_./]+)`( "([^"]*)")?)re");
  std::set<std::string> seen;
  for (const std::string& line : lines_of(read_text(kRoot / "tests/README.md"))) {
    std::smatch match;
    if (!std::regex_search(line, match, row)) continue;
    const std::string id = match[1];
    CHECK_MESSAGE(seen.insert(id).second, id << " stands twice");
    int files = 0;
    for (std::sregex_iterator it(line.begin(), line.end(), entry), end; it != end; ++it, ++files) {
      // A test that does not carry the number is named.
      const std::string file = (*it)[1], wanted = (*it)[3].matched ? (*it)[3].str() : id;
      CHECK_MESSAGE(read_text(kRoot / file).find(wanted) != std::string::npos,
                    file << " does not say: " << wanted);
    }
    CHECK_MESSAGE(files > 0, id << " has no test");
  }
  CHECK(seen.size() > 60);
}

}  // namespace
}  // namespace minigpt::test
