#pragma once
// The minigpt command as a function, for main() and for tests that call it in their own process.

namespace minigpt::tools {

// Runs "minigpt ARGUMENTS" (argv[0] is the name of the program) and returns the exit code:
// 0 done, 1 a run that failed (a loss that is not finite, a full disk), 2 a bad argument or file, 130 stopped by Ctrl-C.
// Throws nothing: whatever goes wrong is one line on standard error.
int run_command_line(int argc, const char* const* argv);

}  // namespace minigpt::tools
