#include "tests/crash/traced_command.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>

namespace minigpt::test {
namespace {

// Everything that changes names, contents or sizes, or pushes them to the disk. Not all systems have the older ones.
const std::map<std::uint64_t, const char*>& changing_calls() {
  static const std::map<std::uint64_t, const char*> calls = {
#ifdef SYS_open
      {SYS_open, "open"},
#endif
#ifdef SYS_mkdir
      {SYS_mkdir, "mkdir"},
#endif
#ifdef SYS_rename
      {SYS_rename, "rename"},
#endif
#ifdef SYS_unlink
      {SYS_unlink, "unlink"},
#endif
#ifdef SYS_rmdir
      {SYS_rmdir, "rmdir"},
#endif
#ifdef SYS_chmod
      {SYS_chmod, "chmod"},
#endif
#ifdef SYS_renameat
      {SYS_renameat, "renameat"},
#endif
      {SYS_openat, "openat"},       {SYS_mkdirat, "mkdirat"},   {SYS_renameat2, "renameat2"},
      {SYS_unlinkat, "unlinkat"},   {SYS_fchmod, "fchmod"},     {SYS_fchmodat, "fchmodat"},
      {SYS_write, "write"},         {SYS_writev, "writev"},     {SYS_pwrite64, "pwrite64"},
      {SYS_ftruncate, "ftruncate"}, {SYS_truncate, "truncate"}, {SYS_fsync, "fsync"},
      {SYS_fdatasync, "fdatasync"},
  };
  return calls;
}

// Opening a file to read it changes nothing.
bool changes_something(std::uint64_t number, const __ptrace_syscall_info& info) {
  if (!changing_calls().contains(number)) return false;
  std::uint64_t flags = O_WRONLY;
  if (number == SYS_openat) flags = info.entry.args[2];
#ifdef SYS_open
  if (number == SYS_open) flags = info.entry.args[1];
#endif
  return (flags & (O_WRONLY | O_RDWR)) != 0;
}

}  // namespace

TracedRun run_traced(const std::vector<std::string>& words, const std::filesystem::path& folder,
                     const std::filesystem::path& output, std::int64_t kill_at) {
  std::vector<std::string> texts = {MINIGPT_BINARY_DIR "/minigpt"};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);

  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const int nothing = ::open("/dev/null", O_RDWR);
    const int out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (nothing < 0 || out < 0 || ::chdir(folder.c_str()) != 0) ::_exit(125);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(out, STDERR_FILENO);
    ::setenv("ASAN_OPTIONS", "detect_leaks=0", 1);  // which itself works with ptrace
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(124);
    ::execv(argv[0], argv.data());
    ::_exit(126);
  }

  TracedRun run;
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  constexpr long kOptions = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE;
  if (!WIFSTOPPED(status) || ::ptrace(PTRACE_SETOPTIONS, child, nullptr, kOptions) != 0) {
    if (WIFSTOPPED(status)) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
    }
    run.possible = false;
    return run;
  }
  ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
  for (;;) {
    // Threads of the command stop one by one, each under its own number.
    const pid_t stopped = ::waitpid(-1, &status, __WALL);
    REQUIRE(stopped > 0);
    if (!WIFSTOPPED(status)) {
      if (stopped != child) continue;
      run.code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
      return run;
    }
    const int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      __ptrace_syscall_info info{};
      const long size = ::ptrace(PTRACE_GET_SYSCALL_INFO, stopped, sizeof info, &info);
      if (size <= 0) run.possible = false;  // before Linux 5.3
      if (size > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY && changes_something(info.entry.nr, info)) {
        if (run.changes++ == kill_at) {
          run.killed = true;
          run.call = changing_calls().at(info.entry.nr);
        }
      }
      if (run.killed || !run.possible) {
        ::kill(child, SIGKILL);
        while (::waitpid(child, &status, __WALL) == child && WIFSTOPPED(status)) {
        }
        return run;
      }
    }
    const bool own = signal == (SIGTRAP | 0x80) || signal == SIGTRAP || signal == SIGSTOP;
    ::ptrace(PTRACE_SYSCALL, stopped, nullptr, own ? 0L : static_cast<long>(signal));
  }
}

}  // namespace minigpt::test
