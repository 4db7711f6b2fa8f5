#include "tests/crash/small_disk.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace minigpt::test {
namespace {

bool write_whole(const char* path, const std::string& text) {
  const int file = ::open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool written = ::write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(file);
  return written;
}

std::string options_for(std::int64_t bytes, std::int64_t inodes) {
  std::string options = "size=" + std::to_string(bytes);
  options += ",nr_inodes=" + std::to_string(inodes > 0 ? inodes : 10000);
  return options;
}

// Mounts in here are nobody else's. Empty if that worked.
std::string own_mounts() {
  const std::string uid = std::to_string(::geteuid()), gid = std::to_string(::getegid());
  if (::geteuid() == 0) {
    if (::unshare(CLONE_NEWNS) != 0) return std::string("no mount namespace: ") + std::strerror(errno);
  } else {
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return std::string("not the administrator, and no user namespace: ") + std::strerror(errno);
    if (!write_whole("/proc/self/setgroups", "deny") ||
        !write_whole("/proc/self/uid_map", "0 " + uid + " 1") ||
        !write_whole("/proc/self/gid_map", "0 " + gid + " 1"))
      return std::string("no user mapping: ") + std::strerror(errno);
  }
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    return std::string("mounts cannot be made private: ") + std::strerror(errno);
  return "";
}

}  // namespace

const std::string& no_small_disk() {
  static const std::string reason = [] {
    std::string why = own_mounts();
    if (!why.empty()) return why;
    const TemporaryFolder folder;
    if (::mount("none", folder.path().c_str(), "tmpfs", 0, "size=65536") != 0)
      return std::string("tmpfs cannot be mounted: ") + std::strerror(errno);
    ::umount2(folder.path().c_str(), MNT_DETACH);
    return std::string();
  }();
  return reason;
}

SmallDisk::SmallDisk(const std::filesystem::path& folder, std::int64_t bytes, std::int64_t inodes)
    : folder_(folder) {
  std::filesystem::create_directory(folder_);
  REQUIRE(::mount("none", folder_.c_str(), "tmpfs", 0, options_for(bytes, inodes).c_str()) == 0);
}

SmallDisk::~SmallDisk() { ::umount2(folder_.c_str(), MNT_DETACH); }

void SmallDisk::resize(std::int64_t bytes, std::int64_t inodes) {
  REQUIRE(::mount("none", folder_.c_str(), "tmpfs", MS_REMOUNT, options_for(bytes, inodes).c_str()) == 0);
}

std::int64_t SmallDisk::used_bytes() const {
  struct statvfs info {};
  REQUIRE(::statvfs(folder_.c_str(), &info) == 0);
  return static_cast<std::int64_t>((info.f_blocks - info.f_bfree) * info.f_frsize);
}

std::int64_t SmallDisk::used_inodes() const {
  struct statvfs info {};
  REQUIRE(::statvfs(folder_.c_str(), &info) == 0);
  return static_cast<std::int64_t>(info.f_files - info.f_ffree);
}

}  // namespace minigpt::test
