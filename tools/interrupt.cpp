#include "tools/interrupt.h"

#include <unistd.h>
#include <csignal>

namespace minigpt::tools {
namespace {

std::atomic<bool> interrupted{false};

void on_signal(int) {
  // Only what is safe inside a signal handler: a lock-free flag, write and _exit.
  if (interrupted.exchange(true)) _exit(130);
  constexpr char kText[] = "\nstopping after this step and saving; press Ctrl-C again to end at once\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kText, sizeof kText - 1);
}

void install(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // A reader that goes away (`| head`) must not end the run: it is saved, and the exit code tells.
  std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  install(on_signal);
  return interrupted;
}

void stop_watching_interrupts() { install(SIG_DFL); }

}  // namespace minigpt::tools
