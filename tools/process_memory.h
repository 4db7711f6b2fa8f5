#pragma once
// The memory of this process, as the operating system counts it.

#include <sys/resource.h>

namespace minigpt::tools {

// The most memory the process has had in RAM so far, in MB (10^6 bytes).
inline double peak_process_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#if defined(__APPLE__)
  return static_cast<double>(usage.ru_maxrss) / 1e6;
#else
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;  // Linux counts in KiB
#endif
}

}  // namespace minigpt::tools
