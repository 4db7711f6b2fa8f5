// Loaded into `minigpt train` by tests/soak/run.sh: one fault per value of SOAK_PLANT, which tools/checks/soak.sh must find.
//
// It stands in for write(), which the run calls a few times per step for its logs.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace {

// The file behind a descriptor.
std::filesystem::path file_of(int descriptor) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(descriptor), ignored);
}

std::atomic<bool> g_busy{false};  // a plant may write itself

}  // namespace

extern "C" ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  static std::atomic<long> calls{0};
  static const std::string plant = std::getenv("SOAK_PLANT") ? std::getenv("SOAK_PLANT") : "";
  if (!g_busy.exchange(true)) {
    const long call = ++calls;
    const bool sometimes = call % 500 == 0;
    if (plant == "memory") {
      void* lost = std::malloc(256);
      std::memset(lost, 1, 256);
      static std::atomic<void*> seen;  // so that the compiler keeps it
      seen = lost;
    }
    if (plant == "descriptor" && sometimes) {
      [[maybe_unused]] const int kept = ::dup(descriptor);
    }
    if (plant == "thread" && sometimes) std::thread([] { ::pause(); }).detach();
    if (plant == "slower")
      for (long i = 0; i < 2000 * call; ++i) asm volatile("");
    const std::filesystem::path file = file_of(descriptor);
    if (plant == "file" && sometimes && file.filename() == "metrics.csv")
      std::ofstream(file.parent_path() / ("left-" + std::to_string(call))) << "left behind";
    const bool lose = plant == "line" && sometimes && file.filename() == "metrics.jsonl";
    g_busy = false;
    if (lose) return static_cast<ssize_t>(size);
  }
  return ::syscall(SYS_write, descriptor, bytes, size);
}
