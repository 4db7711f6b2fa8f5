#include "tests/tools/run_command.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iterator>

extern char** environ;

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCommand = MINIGPT_BINARY_DIR "/minigpt";
constexpr auto kPatience = std::chrono::minutes(2);  // against a hang; nothing here takes a second

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

// In the child, before the command starts: rights and limits. Exits if that fails.
void restrict_child(const RunOptions& options) {
  constexpr id_t kNobody = 65534;
  if (options.as_nobody && ::geteuid() == 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(kNobody) != 0 || ::setuid(kNobody) != 0))
    ::_exit(125);
  if (options.open_file_limit > 0) {
    const rlimit files{static_cast<rlim_t>(options.open_file_limit),
                       static_cast<rlim_t>(options.open_file_limit)};
    if (::setrlimit(RLIMIT_NOFILE, &files) != 0) ::_exit(125);
  }
  if (options.file_size_limit == 0) return;
  const rlimit limit{static_cast<rlim_t>(options.file_size_limit),
                     static_cast<rlim_t>(options.file_size_limit)};
  if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(125);
  ::signal(SIGXFSZ, SIG_IGN);  // so that write() fails, as on a full disk
}

}  // namespace

std::string Outcome::text() const {
  return "exit code " + std::to_string(code) + "\n--- stdout\n" + out + "\n--- stderr\n" + err;
}

RunningCommand::RunningCommand(const std::vector<std::string>& words, const fs::path& folder,
                               const RunOptions& options) {
  std::vector<std::string> arguments = {"minigpt"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  // The last of two values wins with some C libraries, the first with others: leave only one.
  for (const std::string& entry : options.environment) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    std::erase_if(environment, [&](const std::string& old) { return old.starts_with(name); });
    environment.push_back(entry);
  }
  const std::vector<char*> argv = pointers(arguments), envp = pointers(environment);

  // Opened here, since "nobody" may have no way to the folder that the program lies in.
  const int program = ::open(kCommand, O_RDONLY | O_CLOEXEC);
  REQUIRE_MESSAGE(program >= 0, kCommand << " is missing: build the target minigpt_command");
  std::FILE* input = std::tmpfile();
  REQUIRE(input != nullptr);
  std::fwrite(options.input.data(), 1, options.input.size(), input);
  std::rewind(input);
  std::array<int, 2> out{}, err{};
  REQUIRE(::pipe2(out.data(), O_CLOEXEC) == 0);
  REQUIRE(::pipe2(err.data(), O_CLOEXEC) == 0);

  child_ = ::fork();
  REQUIRE(child_ >= 0);
  if (child_ == 0) {
    if (::chdir(folder.c_str()) != 0) ::_exit(125);
    ::dup2(::fileno(input), STDIN_FILENO);
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    const auto redirect = [](int descriptor, const std::string& path) {
      if (path.empty()) return;
      const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      if (file < 0 || ::dup2(file, descriptor) < 0) ::_exit(125);
    };
    redirect(STDOUT_FILENO, options.output_file);
    redirect(STDERR_FILENO, options.error_file);
    restrict_child(options);
    for (const int descriptor : options.closed) ::close(descriptor);
    ::fexecve(program, argv.data(), envp.data());
    ::_exit(126);
  }
  ::close(program);
  std::fclose(input);
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
}

RunningCommand::~RunningCommand() {
  if (!reaped_) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  if (out_ >= 0) ::close(out_);
  if (err_ >= 0) ::close(err_);
}

bool RunningCommand::read_some() {
  std::array<pollfd, 2> watched = {pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0}};  // -1 is passed over
  if (out_ < 0 && err_ < 0) return false;
  ::poll(watched.data(), watched.size(), 1000);
  const auto take = [](int& descriptor, short events, std::string& text) {
    if (descriptor < 0 || events == 0) return;
    std::array<char, 65536> buffer;
    const ssize_t n = ::read(descriptor, buffer.data(), buffer.size());
    if (n > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(n));
    } else {
      ::close(descriptor);
      descriptor = -1;
    }
  };
  take(out_, watched[0].revents, outcome_.out);
  take(err_, watched[1].revents, outcome_.err);
  return true;
}

bool RunningCommand::wait_for(std::string_view text) {
  const auto start = std::chrono::steady_clock::now();
  while (!contains(outcome_.out, text) && !contains(outcome_.err, text)) {
    if (std::chrono::steady_clock::now() - start > kPatience || !read_some()) return false;
  }
  return true;
}

Outcome RunningCommand::wait() {
  const auto start = std::chrono::steady_clock::now();
  bool late = false;
  while (!late && read_some()) late = std::chrono::steady_clock::now() - start > kPatience;
  if (late) ::kill(child_, SIGKILL);
  int status = 0;
  REQUIRE(::waitpid(child_, &status, 0) == child_);
  reaped_ = true;
  outcome_.code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
  REQUIRE_MESSAGE(!late, "the command hangs: " << outcome_.text());
  return outcome_;
}

Outcome Desk::run(std::string_view line, const RunOptions& options) const { return run(line, {}, options); }

Outcome Desk::run(std::string_view line, std::initializer_list<std::string> more,
                  const RunOptions& options) const {
  std::vector<std::string> words = words_of(line);
  words.insert(words.end(), more.begin(), more.end());
  return RunningCommand(words, path(), options).wait();
}

void Desk::write(const fs::path& name, std::string_view content) const {
  std::ofstream file(path() / name, std::ios::binary);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  REQUIRE(file.flush().good());
}

std::string Desk::read(const fs::path& name) const {
  std::ifstream file(path() / name, std::ios::binary);
  REQUIRE_MESSAGE(file.good(), "cannot read " << name.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

void Desk::copy_from(const Desk& other, const std::string& name) const {
  fs::copy(other.path() / name, path() / name, fs::copy_options::recursive);
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < line.size();) {
    const std::size_t end = std::min(line.find(' ', i), line.size());
    if (end > i) words.emplace_back(line.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    lines.emplace_back(text.substr(i, end - i));
    i = end + 1;
  }
  return lines;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

void check_refused(const Desk& desk, std::string_view line, std::string_view reason) {
  const Outcome run = desk.run(line);
  CAPTURE(run.text());
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(lines_of(run.err).size() == 1);
  CHECK(contains(run.err, reason));
}

std::string english_text() {
  std::string text;
  while (text.size() < 1500)
    text +=
        "The quick brown fox jumps over the lazy dog, and nobody asks why.\n"
        "A model reads what was written before; it writes what may come next.\n";
  text.resize(1500);
  return text;
}

const Desk& trained_desk() {
  static const Desk desk;
  static const bool made = [] {
    desk.write("english.txt", english_text());
    // Not the default recipe: this model has a tensor of every kind (positions, gains, a tied matrix).
    const Outcome run = desk.run(
        "train --preset nanogpt-cpu --data english.txt --out model --steps 20 --lr 0.01 --schedule constant" +
        std::string(kTiny));
    REQUIRE_MESSAGE(run.code == 0, run.text());
    return true;
  }();
  static_cast<void>(made);
  return desk;
}

}  // namespace minigpt::test
