// The minigpt command.

#include <csignal>

#include "tools/command_line.h"

int main(int argc, char** argv) {
  // Writing past a limit on the size of files is then an error like a full disk, and no sudden death.
  std::signal(SIGXFSZ, SIG_IGN);
  return minigpt::tools::run_command_line(argc, argv);
}
