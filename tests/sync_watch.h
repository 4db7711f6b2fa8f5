#pragma once
// What a program flushes to the disk, and when: a power cut cannot be tried, but the order of the calls can.

#include <filesystem>
#include <functional>

namespace minigpt::test {

// While alive, every fsync of this program tells `seen` the file or directory first. What `seen` returns is an errno
// value with which the call then fails; 0 lets it go on. One at a time, in one thread.
class SyncWatch {
 public:
  explicit SyncWatch(std::function<int(const std::filesystem::path&)> seen);
  ~SyncWatch();
  SyncWatch(const SyncWatch&) = delete;
  SyncWatch& operator=(const SyncWatch&) = delete;

  // Does the system tell which file a descriptor stands for? Without that nothing is ever seen.
  static bool possible();
};

}  // namespace minigpt::test
