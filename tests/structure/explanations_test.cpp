// What the documents and comments explain: that it is there, and says what the code does.

#include <regex>
#include <set>

#include "autograd/ops/dropout.h"
#include "tests/structure/source_files.h"

namespace minigpt::test {
namespace {

// A file with line breaks, comment marks and repeated blanks taken out, so that sentences can be found in it.
std::string flowing(const std::string& file) {
  const std::string joined = std::regex_replace(read_text(kRoot / file), std::regex("\n *(// ?)?"), " ");
  return std::regex_replace(joined, std::regex(" +"), " ");
}

// Each of the phrases stands in the file.
void check_says(const std::string& file, std::initializer_list<const char*> phrases) {
  const std::string text = flowing(file);
  for (const char* phrase : phrases)
    CHECK_MESSAGE(text.find(phrase) != text.npos, file << " does not say: " << phrase);
}

TEST_CASE("D-14: windows that cross from one document into the next are explained, with the remedy") {
  check_says("README.md", {"Windows cross document borders", "separator between documents", "`--documents`"});
}

TEST_CASE("D-03: the number of windows, where it is decided, is explained") {
  check_says("models/text_dataset.cpp", {"the last window starts at N - block - 1", "N - block windows"});
}

TEST_CASE("A-07: how writes are noticed, and which are not, is documented") {
  check_says("tensor/tensor.h", {"A pointer kept for later writes is not noticed"});
}

TEST_CASE("E-01: dropout scales by 1/(1 - p), with an example that p and 1 - p do not share") {
  check_says("nn/dropout.h",
             {"scales the others by 1/(1 - p)", "at p = 0.2, kept values are multiplied by 1.25"});
  check_says("autograd/ops/dropout.h", {"y = x * keep / (1 - p)", "dx = dy * keep / (1 - p)"});
  // What they say is what happens.
  const Variable x(ones({2}), true);
  const Variable y = dropout(x, DropoutMask{Tensor::from<std::int32_t>({0b01}, {1}), 0.2});
  CHECK(y.value().to_vector<float>() == std::vector<float>{1.25F, 0});
}

TEST_CASE("E-01: no formula anywhere multiplies by 1 - p or divides by p") {
  std::vector<std::string> folders = kLayers;
  const std::regex wrong(R"((\* ?\(1 - p\)|keep / p\b|/ p\b.*keep))");
  for (const std::string& file : source_files(folders)) {
    for (const std::string& line : lines_of(read_text(kRoot / file))) {
      if (line.find("//") == line.npos || line.find("drop") == line.npos) continue;
      CHECK_MESSAGE(!std::regex_search(line, wrong), file << ": " << line);
    }
  }
}

TEST_CASE("M-07: every dropout of a model is named where the layer is explained, by the name of its member") {
  // Members of type Dropout: "Dropout attn_dropout, resid_dropout;". A layer explains them in the comment over its
  // struct, in words or in its formula.
  const std::regex member(R"(^  Dropout ([a-z_0-9, ]+);)");
  int layers = 0;
  for (const std::string& file : source_files({"nn", "models"})) {
    if (!file.ends_with(".h") || file == "nn/dropout.h") continue;
    const std::string text = read_text(kRoot / file);
    std::string comments;
    for (const std::string& line : lines_of(text))
      if (line.starts_with("//")) comments += line + "\n";
    for (const std::string& line : lines_of(text)) {
      std::smatch match;
      if (!std::regex_search(line, match, member)) continue;
      ++layers;
      const std::regex name(R"([a-z_0-9]+)");
      const std::string names = match[1];
      for (std::sregex_iterator it(names.begin(), names.end(), name), end; it != end; ++it)
        CHECK_MESSAGE(std::regex_search(comments, std::regex("\\b" + it->str() + "\\b")),
                      file << " does not say what " << it->str() << " drops");
    }
  }
  CHECK(layers >= 6);
  check_says("models/gpt.h", {"drop", "dropout"});
  check_says("nn/attention/causal_self_attention.h",
             {"attn_dropout on the weights after softmax", "resid_dropout on the result"});
}

TEST_CASE("E-03: shapes in comments use one set of letters, which the README lists") {
  // The legend is in "How to read the code".
  const std::string legend = "BTSCHDEVLMNKF";
  const std::regex shape(R"((?:^|[^A-Za-z_])\(((?:\.\.\., )?[0-9]?[A-Z](?:, ?[0-9]?[A-Z])*)\))");
  std::size_t shapes = 0;
  std::set<char> used;
  for (const std::string& file : source_files({"tensor", "autograd", "nn", "models"})) {
    for (const std::string& line : lines_of(read_text(kRoot / file))) {
      const auto comment = line.find("//");
      if (comment == line.npos) continue;
      const std::string text = line.substr(comment);
      for (std::sregex_iterator it(text.begin(), text.end(), shape), end; it != end; ++it, ++shapes) {
        for (const char c : (*it)[1].str()) {
          if (c < 'A' || c > 'Z') continue;
          used.insert(c);
          CHECK_MESSAGE(legend.find(c) != legend.npos, file << ": " << it->str());
        }
      }
    }
  }
  CHECK(shapes > 200);
  for (const char c : used)
    CHECK_MESSAGE(std::regex_search(flowing("README.md"), std::regex(std::string("`") + c + "`")),
                  "the README does not say what " << c << " is");
}

TEST_CASE("E-06: what a loss means and what to do next, from an untrained model to a good one") {
  const std::string text = read_text(kRoot / "README.md");
  for (const char* row : {"| ln V (4.2 for 65 characters) |", "| about 3.3 |", "| about 2.5 |",
                          "| about 2.0 |", "| about 1.5 |"})
    CHECK_MESSAGE(text.find(row) != text.npos, row);
}

TEST_CASE("E-07: when to stop: the gap between training and validation loss is explained") {
  check_says("README.md",
             {"If the training loss falls and the validation loss rises", "`--early-stop", "`--dropout`"});
}

TEST_CASE("P-03: what a CPU can do: a measured table with machine, settings, time and loss") {
  check_says("README.md", {"| command | machine | time | loss |", "cores"});
}

TEST_CASE("T-07: which weights sampling uses is documented") {
  check_says("README.md", {"the weights with the best validation loss; what `sample` and `eval` use"});
}

TEST_CASE("T-08, P-04: what is reproducible, and what is not, is documented") {
  check_says("README.md",
             {"Same seed, same bits", "with any number of threads", "agree within rounding only"});
}

}  // namespace
}  // namespace minigpt::test
