#pragma once
// The minigpt command under ptrace: killed exactly before the n-th system call that changes something on the disk.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace minigpt::test {

struct TracedRun {
  bool possible = true;      // false where the system forbids ptrace
  bool killed = false;       // false: the command ended before
  int code = -1;             // then its exit code
  std::int64_t changes = 0;  // system calls that change files, so far
  std::string call;          // the one that was not made any more
};

// Runs `words` in `folder`, its output into nothing but `output`. kill_at: from 0; -1 to let it run to its end.
TracedRun run_traced(const std::vector<std::string>& words, const std::filesystem::path& folder,
                     const std::filesystem::path& output, std::int64_t kill_at);

}  // namespace minigpt::test
