#include "tools/bench/memory_use.h"

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace minigpt::tools {

std::int64_t resident_bytes() {
  std::int64_t total = 0, resident = 0;  // in pages
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * ::sysconf(_SC_PAGESIZE);
}

std::int64_t peak_resident_bytes() {
  rusage use{};
  return ::getrusage(RUSAGE_SELF, &use) == 0 ? use.ru_maxrss * 1024 : 0;
}

}  // namespace minigpt::tools
