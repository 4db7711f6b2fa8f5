// A command line, in this process.
//
// The input is its arguments, one a line. Every command is only rehearsed (tools/rehearsal.h): it reads and checks its
// arguments and files, and stops before it computes or writes. Paths stay in a private folder: a slash at the start and
// ".." are taken away. The folder holds a model ("model"), one that is damaged ("broken"), texts and files of settings.

#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "tensor/parallel.h"
#include "tests/fuzz/properties.h"
#include "tests/fuzz/small_model.h"
#include "tools/command_line.h"
#include "tools/rehearsal.h"

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostArguments = 40;

void put(const fs::path& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
}

// The private folder, which becomes the current one.
struct Desk {
  PrivateFolder place;
  Desk() {
    const fs::path& at = place.path();
    make_small_model(at / "model");
    fs::copy(at / "model", at / "broken", fs::copy_options::recursive);
    fs::resize_file(at / "broken/model.safetensors", 100);
    put(at / "broken/last/state.json", "{}");
    put(at / "text.txt", kSmallText);
    put(at / "empty.txt", "");
    put(at / "bad.txt", "abba\xFF\n");
    put(at / "other.txt", "\xEF\xBB\xBFna\xC3\xAFve, abba baba abab\n");
    put(at / "settings.json", R"({"n_layer": 1, "n_embd": 4, "n_head": 1, "block_size": 4})");
    put(at / "bad.json", R"({"n_layr": 1})");
    require(::chdir(at.c_str()) == 0, "the private folder can be entered");
    // "-" stands for standard input, which may be a terminal.
    require(::freopen("/dev/null", "r", stdin) != nullptr, "standard input can be replaced");
  }
  ~Desk() {
    if (::chdir("/") != 0) std::abort();
  }
};

std::string harmless(std::string_view word) {
  std::string text(word.substr(0, word.find('\0')));
  for (std::size_t at; (at = text.find("..")) != text.npos;) text.erase(at, 1);
  for (std::size_t at = 0; at < text.size();) {
    const bool starts_path = text[at] == '/' && (at == 0 || text[at - 1] == '=');
    if (starts_path)
      text.erase(at, 1);
    else
      ++at;
  }
  return text;
}

// Standard output or error, kept in memory. The C library lets both be replaced.
class Captured {
 public:
  explicit Captured(std::FILE*& stream) : stream_(stream), before_(stream) {
    stream_ = ::open_memstream(&text_, &size_);
    if (!stream_) std::abort();
  }
  ~Captured() {
    std::fclose(stream_);
    stream_ = before_;
    std::free(text_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  std::string text() {
    std::fflush(stream_);
    return {text_, size_};
  }

 private:
  std::FILE*& stream_;
  std::FILE* before_;
  char* text_ = nullptr;
  std::size_t size_ = 0;
};

// Bad input gives one line that says what is wrong, and nothing else.
void require_refusal(std::string_view out, std::string_view err) {
  require(out.empty(), "nothing is printed for bad input");
  require(err.ends_with('\n'), "a message ends its line");
  require_message(err.substr(0, err.size() - 1));
  require(err.starts_with("minigpt: "), "a message begins with the name of the program");
}

}  // namespace

void fuzz_command(Bytes input) {
  static const Desk desk;
  std::vector<std::string> words = {"minigpt"};
  for (std::string_view rest = text_of(input); !rest.empty() && words.size() <= kMostArguments;) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    words.push_back(harmless(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  std::vector<const char*> argv;
  for (const std::string& word : words) argv.push_back(word.c_str());

  const tools::Rehearsal rehearsal;
  std::string out, err;
  int code = 0;
  {
    Captured captured_out(stdout), captured_err(stderr);
    code = tools::run_command_line(static_cast<int>(argv.size()), argv.data());
    out = captured_out.text();
    err = captured_err.text();
  }
  set_num_threads(1);
  require(code == 0 || code == 2, "a rehearsal ends well or with bad input");
  if (code == 2) require_refusal(out, err);
}

}  // namespace minigpt::test
