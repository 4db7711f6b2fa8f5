#include "nn/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>
#include <system_error>

#include "nn/files_posix.h"
#include "tensor/error.h"

namespace minigpt {

namespace fs = std::filesystem;
using detail::Descriptor;
using detail::Temporary;

namespace {

// Opens a regular file for reading and gives its size. Pipes and devices are refused unopened or without
// waiting.
std::uint64_t open_for_reading(const fs::path& path, std::string_view op, Descriptor& out) {
  const int error = detail::open_file(path, O_RDONLY | O_NONBLOCK, 0, out);
  if (error != 0) detail::fail_read(op, path, "can't open the file", error);
  struct stat info {};
  if (::fstat(out.get(), &info) != 0) detail::fail_read(op, path, "can't read the file", errno);
  check(!S_ISDIR(info.st_mode), op, "{}: is a directory, not a file", path.string());
  check(S_ISREG(info.st_mode), op, "{}: is not a regular file", path.string());
  return static_cast<std::uint64_t>(info.st_size);
}

// Reads until `to` is full, from the place `offset`.
void read_exactly(int descriptor, std::uint64_t offset, std::span<std::byte> to, const fs::path& path,
                  std::string_view op) {
  const std::size_t wanted = to.size();
  // Large reads come in pieces (Linux: at most 2 GB at once), and signals may interrupt them.
  while (!to.empty()) {
    const ssize_t n = ::pread(descriptor, to.data(), to.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) detail::fail_read(op, path, "can't read the file", errno);
    check(n > 0, op, "{}: the file became shorter while it was read: {} bytes present, {} expected",
          path.string(), wanted - to.size(), wanted);
    offset += static_cast<std::uint64_t>(n);
    to = to.subspan(static_cast<std::size_t>(n));
  }
}

// Container: std::string or std::vector<std::byte>.
template <class Container>
Container read_whole(int descriptor, std::uint64_t size, const fs::path& path, std::string_view op) {
  Container content;
  try {
    content.resize(static_cast<std::size_t>(size));
  } catch (const std::exception&) {  // bad_alloc or length_error
    throw RunError(fmt::format("[{}] {}: not enough memory to read {} bytes", op, path.string(), size));
  }
  read_exactly(descriptor, 0, std::as_writable_bytes(std::span(content)), path, op);
  return content;
}

}  // namespace

std::string read_file(const fs::path& path) {
  Descriptor descriptor;
  const std::uint64_t size = open_for_reading(path, "read_file", descriptor);
  return read_whole<std::string>(descriptor.get(), size, path, "read_file");
}

void write_file_atomically(const fs::path& path, const std::vector<std::span<const std::byte>>& pieces) {
  constexpr std::string_view kOp = "write_file";
  fs::path target = path;
  if (const int error = detail::follow_links(target))
    detail::fail_run(kOp, path, "can't follow the link", error);
  struct stat old {};
  const bool exists = ::stat(target.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) detail::fail_run(kOp, path, "can't replace the file", EISDIR);
  // A rename would put a file in the place of a device or pipe such as /dev/null.
  if (exists && !S_ISREG(old.st_mode))
    throw RunError(fmt::format("[{}] {}: is not a regular file", kOp, path.string()));

  // In the same directory, because a rename can't cross file systems. Until the rename, `fresh` removes itself on
  // every way out of this function.
  const fs::path parent = detail::parent_of(target);
  Temporary fresh;
  if (const int error = fresh.create(parent, Temporary::Kind::file))
    detail::fail_run(kOp, path, "can't create a file beside it", error);
  for (const std::span<const std::byte> piece : pieces)
    if (const int error = detail::write_all(fresh.descriptor(), piece))
      detail::fail_run(kOp, path, "can't write", error);
  if (exists && ::fchmod(fresh.descriptor(), old.st_mode & 07777) != 0)
    detail::fail_run(kOp, path, "can't set the permissions", errno);
  // Before the rename: otherwise a power cut could leave the new name with content that never reached the disk.
  if (const int error = detail::sync_descriptor(fresh.descriptor()))
    detail::fail_run(kOp, path, "can't flush to the disk", error);
  if (::rename(fresh.path().c_str(), target.c_str()) != 0)
    detail::fail_run(kOp, path, "can't replace the file", errno);
  fresh.release();
  // The rename itself is an entry of the directory and reaches the disk with it.
  if (const int error = detail::sync_path(parent))
    detail::fail_run(kOp, parent, "can't flush to the disk", error);
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> content) {
  write_file_atomically(path, std::vector<std::span<const std::byte>>{content});
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, std::as_bytes(std::span(content)));
}

void check_writable_directory(const fs::path& path) {
  constexpr std::string_view kOp = "output directory";
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status)) {
    check(fs::is_directory(status), kOp, "{}: exists and is not a directory", path.string());
  } else {
    fs::create_directories(path, error);
    check(!error, kOp, "{}: can't create the directory: {}", path.string(), error.message());
  }

  // Trying is the only reliable test: permission bits say nothing about full disks, quotas or read-only mounts.
  Temporary probe;
  int failure = probe.create(path, Temporary::Kind::file);
  if (failure != 0) detail::fail_read(kOp, path, "can't create a file in it", failure);
  // One block, flushed: a full disk often accepts an empty file.
  constexpr std::array<std::byte, 4096> kBlock{};
  failure = detail::write_all(probe.descriptor(), kBlock);
  if (failure == 0) failure = detail::sync_descriptor(probe.descriptor());
  check(failure == 0, kOp, "{}: can't write a file in it: {}", path.string(), detail::reason(failure));
  check(fs::remove(probe.path(), error), kOp, "{}: can't remove a file in it: {}", path.string(),
        error.message());
  probe.release();
}

namespace detail {

std::vector<std::byte> read_bytes(
    const fs::path& path, std::string_view op,
    const std::function<void(std::span<const std::byte>, std::uint64_t)>& inspect) {
  Descriptor descriptor;
  const std::uint64_t size = open_for_reading(path, op, descriptor);
  if (inspect) {
    std::array<std::byte, 512> head;
    const std::span<std::byte> start(head.data(),
                                     static_cast<std::size_t>(std::min<std::uint64_t>(size, head.size())));
    read_exactly(descriptor.get(), 0, start, path, op);
    inspect(start, size);
  }
  return read_whole<std::vector<std::byte>>(descriptor.get(), size, path, op);
}

}  // namespace detail
}  // namespace minigpt
