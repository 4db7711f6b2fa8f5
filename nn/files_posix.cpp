#include "nn/files_posix.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include "tensor/error.h"

namespace minigpt::detail {
namespace {

constexpr std::string_view kTemporaryPrefix = ".minigpt-tmp-";

// Calls a system function again as long as a signal interrupts it.
template <class Call>
auto retry(Call call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result == -1 && errno == EINTR);
  return result;
}

// Holds back SIGXFSZ, which a write beyond the file-size limit sends and which ends the program by default.
// The signal goes to the writing thread, so blocking it here touches no other; one that arrived is taken away
// before unblocking.
class FileSizeSignalBlock {
 public:
  FileSizeSignalBlock() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    was_pending_ = pending();
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~FileSizeSignalBlock() {
    const int error = errno;
    int taken = 0;
    if (!was_pending_ && pending()) sigwait(&signal_, &taken);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  FileSizeSignalBlock(const FileSizeSignalBlock&) = delete;
  FileSizeSignalBlock& operator=(const FileSizeSignalBlock&) = delete;

 private:
  static bool pending() {
    sigset_t set;
    return sigpending(&set) == 0 && sigismember(&set, SIGXFSZ) == 1;
  }
  sigset_t signal_{}, before_{};
  bool was_pending_ = false;
};

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Whether the path still names the file that is open: it may have been removed between opening and locking.
bool still_names(const fs::path& path, int descriptor) {
  struct stat by_path {
  }, by_descriptor{};
  return lstat(path.c_str(), &by_path) == 0 && fstat(descriptor, &by_descriptor) == 0 &&
         by_path.st_ino == by_descriptor.st_ino && by_path.st_dev == by_descriptor.st_dev;
}

}  // namespace

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    number_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(number_, -1); }

int Descriptor::close() {
  if (number_ < 0) return 0;
  // Not repeated after EINTR: the descriptor is gone by then, and its number may already be another file's.
  return ::close(release()) == 0 || errno == EINTR ? 0 : errno;
}

std::string reason(int error) { return std::generic_category().message(error); }

void fail_run(std::string_view op, const fs::path& path, std::string_view what, int error) {
  throw RunError(fmt::format("[{}] {}: {}: {}", op, path.string(), what, reason(error)));
}

bool machine_failed(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO;
}

void fail_read(std::string_view op, const fs::path& path, std::string_view what, int error) {
  if (machine_failed(error)) fail_run(op, path, what, error);
  fail(op, "{}: {}: {}", path.string(), what, reason(error));
}

int open_file(const fs::path& path, int flags, unsigned mode, Descriptor& out) {
  const int number = retry([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (number < 0) return errno;
  out = Descriptor(number);
  return 0;
}

// A short write is no error: the next one tells whether the disk is full.
int write_all(int descriptor, std::span<const std::byte> bytes) {
  const FileSizeSignalBlock block;
  while (!bytes.empty()) {
    const ssize_t written = retry([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return 0;
}

int sync_descriptor(int descriptor) {
  // Pipes and some network file systems have nothing to flush (EINVAL, ENOTSUP).
  if (retry([&] { return ::fsync(descriptor); }) == 0) return 0;
  return errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

int sync_path(const fs::path& path) {
  Descriptor descriptor;
  const int error = open_file(path, O_RDONLY | O_NONBLOCK, 0, descriptor);
  return error != 0 ? error : sync_descriptor(descriptor.get());
}

fs::path parent_of(const fs::path& path) {
  const fs::path parent = path.parent_path();
  return parent.empty() ? fs::path(".") : parent;
}

int follow_links(fs::path& path) {
  constexpr int kMostLinks = 40;  // as Linux allows; more is a circle
  for (int i = 0; i < kMostLinks; ++i) {
    if (!path.has_filename() && path.has_parent_path() && path != path.root_path()) path = path.parent_path();
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return 0;
    path = path.parent_path() / target;
  }
  return ELOOP;
}

// O_NONBLOCK: opening a pipe must not wait for somebody at its other end.
int lock_path(const fs::path& path, Descriptor& out) {
  const int error = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0, out);
  if (error != 0) return error;
  return retry([&] { return ::flock(out.get(), LOCK_EX | LOCK_NB); }) == 0 ? 0 : errno;
}

int Temporary::create(const fs::path& parent, Kind kind) {
  static std::atomic<unsigned> next{0};
  constexpr int kAttempts = 1000;
  for (int i = 0; i < kAttempts; ++i) {
    const fs::path path = parent / fmt::format("{}{}-{}", kTemporaryPrefix, ::getpid(), next++);
    // Both calls fail if the name exists, a leftover of an earlier process with the same number for instance.
    int error = 0;
    if (kind == Kind::file) {
      error = open_file(path, O_RDWR | O_CREAT | O_EXCL, 0666, descriptor_);
    } else if (::mkdir(path.c_str(), 0777) != 0) {
      error = errno;
    } else {
      error = open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, descriptor_);
    }
    if (error == EEXIST) continue;
    if (error != 0) return error;
    // Not every file system has locks; without them only the protection against a concurrent clean-up is
    // missing.
    const bool locked = retry([&] { return ::flock(descriptor_.get(), LOCK_EX | LOCK_NB); }) == 0;
    if (!locked && errno == EWOULDBLOCK) continue;  // a clean-up was faster and is just removing it
    // Created, but removed again before the lock was taken: under the next name.
    if (!still_names(path, descriptor_.get())) continue;
    path_ = path;
    return 0;
  }
  return EEXIST;
}

Temporary::~Temporary() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

bool is_temporary_name(std::string_view name) {
  if (!name.starts_with(kTemporaryPrefix)) return false;
  name.remove_prefix(kTemporaryPrefix.size());
  const std::size_t dash = name.find('-');
  return dash != name.npos && all_digits(name.substr(0, dash)) && all_digits(name.substr(dash + 1));
}

}  // namespace minigpt::detail
