#include "tools/bench/worker.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>

#include "tensor/error.h"
#include "tools/messages.h"

namespace minigpt::tools {
namespace {

// The environment with the number of threads, under every name that a library may look for.
std::vector<std::string> environment(int threads) {
  std::vector<std::string> result;
  const std::array<std::string, 4> names = {
      "OPENBLAS_NUM_THREADS=", "BLIS_NUM_THREADS=", "MKL_NUM_THREADS=", "OMP_NUM_THREADS="};
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    bool ours = false;
    for (const std::string& name : names) ours = ours || text.starts_with(name);
    if (!ours) result.push_back(text);
  }
  for (const std::string& name : names) result.push_back(name + std::to_string(threads));
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Worker::Worker(const std::string& name, const std::string& path, int threads) : name_(name) {
  std::array<int, 2> to{}, from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0 || ::pipe2(from.data(), O_CLOEXEC) != 0)
    throw RunError("[bench] no pipe for another process");
  in_ = to[1];
  out_ = from[0];
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
  std::vector<std::string> words = {
      "minigpt", "bench", "worker", "--name", name, "--threads", std::to_string(threads)};
  if (!path.empty()) words.insert(words.end(), {"--path", path});
  std::vector<std::string> variables = environment(threads);
  const int status = ::posix_spawn(&child_, "/proc/self/exe", &actions, nullptr, pointers(words).data(),
                                   pointers(variables).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(to[0]);
  ::close(from[1]);
  if (status != 0) throw RunError("[bench] the command could not start itself again");
  std::string line;
  if (!read_line(line) || !line.starts_with("ready ")) {
    end();
    return;
  }
  const std::size_t tab = line.find('\t');
  file_ = line.substr(6, tab - 6);
  version_ = line.substr(tab + 1);
  ::kill(child_, SIGSTOP);
}

Worker::~Worker() { end(); }

void Worker::end() {
  ::close(in_);
  ::close(out_);
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = in_ = out_ = -1;
}

bool Worker::read_line(std::string& line) {
  std::size_t end;
  while ((end = buffer_.find('\n')) == buffer_.npos) {
    std::array<char, 256> part{};
    const ssize_t count = ::read(out_, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    buffer_.append(part.data(), static_cast<std::size_t>(count));
  }
  line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return true;
}

std::optional<double> Worker::ask(const std::string& request) {
  if (!ready()) return std::nullopt;
  const std::string text = request + "\n";
  ::kill(child_, SIGCONT);
  std::string line;
  const bool answered =
      ::write(in_, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && read_line(line);
  if (!answered) {
    say("note: {} ended unexpectedly and is left out\n", name_);
    end();
    return std::nullopt;
  }
  ::kill(child_, SIGSTOP);
  const double value = std::strtod(line.c_str(), nullptr);
  return value > 0 ? std::optional(value) : std::nullopt;
}

std::optional<double> Worker::seconds(const std::string& way, const Product& p, double slice, bool fastest) {
  return ask(
      fmt::format("time {} {} {} {} {} {} {} {:d}", way, p.m, p.n, p.k, p.layout, p.dtype, slice, fastest));
}

std::optional<double> Worker::peak(const std::string& dtype, double slice, bool fastest) {
  return ask(fmt::format("peak {} {} {:d}", dtype, slice, fastest));
}

}  // namespace minigpt::tools
