#pragma once
// Ctrl-C: the first one asks the run to stop after the current step and save, the second one ends the program at once.

#include <atomic>

namespace minigpt::tools {

// Installs the handler for SIGINT and SIGTERM and returns the flag it sets.
const std::atomic<bool>& watch_interrupts();

// Everything is saved: from here on a signal ends the program at once again.
void stop_watching_interrupts();

}  // namespace minigpt::tools
