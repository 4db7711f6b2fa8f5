#pragma once
// A disk of a few pages that can be filled to the last byte.

#include <string>

#include "tests/crash/crash_testing.h"

namespace minigpt::test {

// Why there can be no small disk here, "" if there can. Mounting one takes the rights of the administrator; as another user, the
// test program moves into a user and mount namespace of its own first, where that is permitted.
const std::string& no_small_disk();

// A tmpfs mounted on `folder`, which is made; unmounted at the end of the scope.
class SmallDisk {
 public:
  SmallDisk(const std::filesystem::path& folder, std::int64_t bytes, std::int64_t inodes = 0);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Another size; it may be less than what is used.
  void resize(std::int64_t bytes, std::int64_t inodes = 0);
  std::int64_t used_bytes() const;
  std::int64_t used_inodes() const;

 private:
  std::filesystem::path folder_;
};

}  // namespace minigpt::test
