// Directories replaced as a whole, and the clean-up after a crash.

#include <cerrno>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <fcntl.h>
#include <sys/syscall.h>
#endif

#include "nn/files.h"
#include "nn/files_posix.h"
#include "tensor/error.h"

namespace minigpt {

namespace fs = std::filesystem;
using detail::Temporary;

namespace {

// Exchanges two paths in one step: both names exist at every moment. Returns 0 or errno (ENOSYS or EINVAL
// where the kernel or the file system has no such thing).
int exchange(const fs::path& a, const fs::path& b) {
#if defined(SYS_renameat2)
  constexpr unsigned kExchange = 1U << 1;  // RENAME_EXCHANGE, which not every libc defines
  return ::syscall(SYS_renameat2, AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), kExchange) == 0 ? 0 : errno;
#else
  static_cast<void>(a);
  static_cast<void>(b);
  return ENOSYS;
#endif
}

// rename(2): returns 0 or errno.
int rename_path(const fs::path& from, const fs::path& to) {
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

// Where replace_by_two_renames puts the old directory. The name tells remove_leftovers where it belongs.
fs::path aside_name(const fs::path& dir) {
  return detail::parent_of(dir) / (std::string(detail::kAsidePrefix) + dir.filename().string());
}

// Flushes every file and directory below `dir`, and `dir` itself.
int sync_tree(const fs::path& dir, fs::path& failed) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    const fs::file_status status = it->symlink_status();
    if (!fs::is_regular_file(status) && !fs::is_directory(status)) continue;
    failed = it->path();
    if (const int code = detail::sync_path(it->path())) return code;
  }
  failed = dir;
  return error ? error.value() : detail::sync_path(dir);
}

// Removes a directory and all in it, also if it is write-protected.
bool remove_tree(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(fs::symlink_status(path, error)))
    fs::permissions(path, fs::perms::owner_all, fs::perm_options::add, error);
  fs::remove_all(path, error);
  return !fs::exists(fs::symlink_status(path, error));
}

}  // namespace

void replace_directory(const fs::path& dir, const std::function<void(const fs::path&)>& fill) {
  constexpr std::string_view kOp = "replace_directory";
  fs::path target = dir;
  if (const int error = detail::follow_links(target))
    detail::fail_run(kOp, dir, "can't follow the link", error);
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && !S_ISDIR(old.st_mode)) detail::fail_run(kOp, dir, "can't replace it", ENOTDIR);

  const fs::path parent = detail::parent_of(target);
  Temporary fresh;
  if (const int error = fresh.create(parent, Temporary::Kind::directory))
    detail::fail_run(kOp, dir, "can't create a directory beside it", error);
  fill(fresh.path());  // if it throws, `fresh` removes itself and `dir` was never touched
  if (exists && ::chmod(fresh.path().c_str(), old.st_mode & 07777) != 0)
    detail::fail_run(kOp, dir, "can't set the permissions", errno);
  fs::path failed;
  if (const int error = sync_tree(fresh.path(), failed))
    detail::fail_run(kOp, failed, "can't flush to the disk", error);

  // After an exchange the old directory has the temporary name, after two renames the name aside.
  int error = exists ? exchange(fresh.path(), target) : rename_path(fresh.path(), target);
  const bool exchanged = exists && error == 0;
  if (exists && (error == ENOSYS || error == EINVAL || error == ENOTSUP))
    error = detail::replace_by_two_renames(fresh.path(), target);
  if (error != 0) detail::fail_run(kOp, dir, "can't put the new directory in place", error);
  const fs::path outdated = exchanged ? fresh.path() : aside_name(target);
  fresh.release();

  // The old directory goes only when the exchange is safely on the disk. If it can't be removed it is in
  // nobody's way, and a later remove_leftovers will try again.
  error = detail::sync_path(parent);
  if (error != 0) detail::fail_run(kOp, parent, "can't flush to the disk", error);
  if (exists) remove_tree(outdated);
}

int remove_leftovers(const fs::path& parent) {
  int count = 0;
  std::error_code error;
  std::vector<fs::path> found;  // collected first: a listing that changes while it is read may skip entries
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error))
    found.push_back(it->path());

  for (const fs::path& path : found) {
    const std::string name = path.filename().string();
    if (name.starts_with(detail::kAsidePrefix) && name.size() > detail::kAsidePrefix.size()) {
      // Moved aside, and then the crash came before or after the new directory took its place.
      const fs::path original = parent / name.substr(detail::kAsidePrefix.size());
      const bool replaced = fs::exists(fs::symlink_status(original, error));
      if (replaced ? remove_tree(path) : rename_path(path, original) == 0) ++count;
    } else if (detail::is_temporary_name(name)) {
      detail::Descriptor lock;
      // A living writer holds the lock; the system released that of a dead one.
      if (detail::lock_path(path, lock) == EWOULDBLOCK) continue;
      if (remove_tree(path)) ++count;
    }
  }
  return count;
}

namespace detail {

int replace_by_two_renames(const fs::path& fresh, const fs::path& dir) {
  const fs::path aside = aside_name(dir);
  std::error_code ignored;
  fs::remove_all(aside, ignored);  // of an earlier crash; dir exists, so this one is outdated
  if (const int error = rename_path(dir, aside)) return error;
  if (const int error = rename_path(fresh, dir)) {
    rename_path(aside, dir);  // as if nothing had happened
    return error;
  }
  return 0;
}

}  // namespace detail
}  // namespace minigpt
