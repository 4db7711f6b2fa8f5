// The minigpt command.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <initializer_list>

#include "tools/command_line.h"

namespace {

// A file that is opened while a standard descriptor is closed would take its number, and be written to like a terminal.
// Whatever takes the place here fails as a closed one does: it cannot be read (0) or written (1, 2).
void fill_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(descriptor, F_GETFD) == -1)
      ::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_descriptors();
  // Writing past a limit on the size of files is then an error like a full disk, and no sudden death.
  std::signal(SIGXFSZ, SIG_IGN);
  return minigpt::tools::run_command_line(argc, argv);
}
