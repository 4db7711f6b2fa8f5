#pragma once
// The minigpt command as a user meets it: a child process with its output, its exit code, and the files it leaves.

#include <doctest/doctest.h>
#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/nn/temporary_folder.h"

namespace minigpt::test {

struct Outcome {
  int code = -1;    // the exit code, or 256 + the signal that ended the process
  std::string out;  // standard output
  std::string err;  // standard error

  // For CAPTURE: what went wrong, in full.
  std::string text() const;
};

struct RunOptions {
  std::string input;                     // standard input
  std::vector<std::string> environment;  // "NAME=value", added to the test's own
  std::string output_file;               // where standard output goes instead
  std::string error_file;                // where standard error goes instead
  std::vector<int> closed;               // standard descriptors that the command does not have
  bool as_nobody = false;    // give up the rights of the administrator, for whom nothing is forbidden
  long file_size_limit = 0;  // in bytes, 0 for none: writing beyond fails, as on a full disk
  long open_file_limit = 0;  // 0 for the usual one
};

// A process that may still be running. It is killed, and the test fails, if it needs longer than two minutes.
class RunningCommand {
 public:
  RunningCommand(const std::vector<std::string>& words, const std::filesystem::path& folder,
                 const RunOptions& options = {});
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Waits until standard output and error together hold `text`; false if the process ends before.
  bool wait_for(std::string_view text);
  void send(int signal) { ::kill(child_, signal); }
  Outcome wait();

 private:
  bool read_some();  // false once both outputs are closed

  pid_t child_ = -1;
  int out_ = -1, err_ = -1;
  bool reaped_ = false;
  Outcome outcome_;
};

// A fresh folder in which commands run and files lie.
class Desk {
 public:
  // "train --data t.txt": words separated by blanks.
  Outcome run(std::string_view line, const RunOptions& options = {}) const;
  // For words that hold blanks themselves, after those of `line`.
  Outcome run(std::string_view line, std::initializer_list<std::string> more,
              const RunOptions& options = {}) const;

  const std::filesystem::path& path() const { return folder_.path(); }
  void write(const std::filesystem::path& name, std::string_view content) const;
  std::string read(const std::filesystem::path& name) const;
  bool has(const std::filesystem::path& name) const { return std::filesystem::exists(path() / name); }
  // Copies the folder `name` of another desk.
  void copy_from(const Desk& other, const std::string& name) const;

 private:
  TemporaryFolder folder_;
};

std::vector<std::string> words_of(std::string_view line);
std::vector<std::string> lines_of(std::string_view text);
bool contains(std::string_view text, std::string_view part);

// Bad input: exit code 2, nothing on standard output, and one line on standard error that holds `reason`.
void check_refused(const Desk& desk, std::string_view line, std::string_view reason);

// 1,500 characters of English.
std::string english_text();

// A model of 2,000 parameters: a step takes less than a millisecond.
inline constexpr std::string_view kTiny =
    " --layers 1 --heads 2 --channels 16 --block 16 --batch 4 --eval-batches 1 --threads 1";

// A desk with english.txt and, trained on it for 20 steps, the folder "model". Made once; leave it as it is.
const Desk& trained_desk();

}  // namespace minigpt::test
