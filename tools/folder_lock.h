#pragma once
// One run at a time in a folder: two would overwrite each other's states.

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "tensor/error.h"

namespace minigpt::tools {

// Holds the folder until it is destroyed, or the process ends in whatever way.
class FolderLock {
 public:
  FolderLock() = default;
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Throws Error if another run holds it. A folder that cannot be opened, or a file system without locks, is let pass.
  void take(const std::filesystem::path& folder) {
    if (descriptor_ >= 0) return;
    descriptor_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor_ < 0) return;
    check(flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK, "train",
          "{} is in use by another run; choose another --out or wait for it to end", folder.string());
  }

 private:
  int descriptor_ = -1;
};

}  // namespace minigpt::tools
