// AppendFile: a text file that grows line by line.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "nn/files.h"
#include "nn/files_posix.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

constexpr std::string_view kOp = "append_line";

// Cuts the file to `size` bytes. A crash leaves the file either longer or cut, never with other content.
void truncate(int descriptor, std::size_t size, const std::filesystem::path& path) {
  int result = 0;
  do {
    result = ::ftruncate(descriptor, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result != 0) detail::fail_run(kOp, path, "can't cut the file", errno);
}

// The content, as far as complete lines go.
std::string complete_lines(const std::filesystem::path& path) {
  std::string text = read_file(path);
  text.resize(text.rfind('\n') + 1);  // npos + 1 == 0: not a single line is complete
  return text;
}

}  // namespace

AppendFile::AppendFile(const std::filesystem::path& path) : path_(path) {
  detail::Descriptor descriptor;
  // O_APPEND: every write goes to the end, wherever another one has moved it.
  if (const int error = detail::open_file(path, O_RDWR | O_CREAT | O_APPEND, 0666, descriptor))
    detail::fail_run(kOp, path, "can't open the file", error);
  struct stat info {};
  if (::fstat(descriptor.get(), &info) != 0) detail::fail_run(kOp, path, "can't read the file", errno);
  if (!S_ISREG(info.st_mode))
    throw RunError(fmt::format("[{}] {}: is not a regular file", kOp, path.string()));
  const std::string text = complete_lines(path);
  if (text.size() < static_cast<std::size_t>(info.st_size)) truncate(descriptor.get(), text.size(), path);
  size_ = static_cast<std::int64_t>(text.size());
  sum_.add(text);
  descriptor_ = descriptor.release();
}

AppendFile::~AppendFile() { detail::Descriptor{descriptor_}.close(); }

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_),
      sum_(other.sum_) {}

// The old file is closed by `other`, which takes it.
AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(sum_, other.sum_);
  return *this;
}

void AppendFile::append_line(std::string_view line) {
  check(line.find('\n') == line.npos, kOp, "{}: a line must not contain a line break: {} bytes given",
        path_.string(), line.size());
  struct stat before {};
  if (::fstat(descriptor_, &before) != 0) detail::fail_run(kOp, path_, "can't read the file", errno);
  // One buffer, one write: with O_APPEND the system adds it as a whole, also if two programs write.
  std::string text(line);
  text += '\n';
  if (const int error = detail::write_all(descriptor_, std::as_bytes(std::span(text)))) {
    // A disk that fills up takes the first half of a line: undo it, so that the file still consists of lines.
    truncate(descriptor_, static_cast<std::size_t>(before.st_size), path_);
    detail::fail_run(kOp, path_, "can't write", error);
  }
  size_ += static_cast<std::int64_t>(text.size());
  sum_.add(text);
}

std::int64_t AppendFile::cut_after_last(const std::function<bool(std::string_view)>& keep) {
  const std::string text = complete_lines(path_);
  std::size_t kept = 0;
  std::int64_t count = 0, kept_count = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    ++count;
    const bool wanted = keep(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
    if (!wanted) continue;
    kept = begin;
    kept_count = count;
  }
  // Also when all lines stay: this cuts off a torn line that another program may have left.
  truncate(descriptor_, kept, path_);
  sync();
  size_ = static_cast<std::int64_t>(kept);
  sum_ = {};
  sum_.add(std::string_view(text).substr(0, kept));
  return kept_count;
}

void AppendFile::sync() {
  if (const int error = detail::sync_descriptor(descriptor_))
    detail::fail_run(kOp, path_, "can't flush", error);
}

}  // namespace minigpt
