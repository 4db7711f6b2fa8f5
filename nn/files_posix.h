#pragma once
// The system calls beneath nn/files.h, with their corners taken care of. Only nn/files*.cpp include this.
//
// Functions that return int give 0 or an errno value: whether a failure is the user's mistake (Error) or an
// accident of the run (RunError) is for the caller to say.

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace minigpt::detail {

namespace fs = std::filesystem;

// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return number_; }
  int release();
  int close();

 private:
  int number_;
};

// "No space left on device".
std::string reason(int error);

// Throws RunError("[op] path: what: reason").
[[noreturn]] void fail_run(std::string_view op, const fs::path& path, std::string_view what, int error);

// Whether a file could not be read for want of something that the machine has run out of (memory, descriptors), or for a fault
// of the disk, and not because it is the wrong one.
bool machine_failed(int error);

// Throws Error, or RunError if the machine failed: "[op] path: what: reason".
[[noreturn]] void fail_read(std::string_view op, const fs::path& path, std::string_view what, int error);

// open(2), repeated if a signal interrupts it; the descriptor is not inherited by programs that are started.
int open_file(const fs::path& path, int flags, unsigned mode, Descriptor& out);

// Writes everything: repeats short and interrupted writes, and turns the signal that would end the program at
// a file-size limit into the error EFBIG.
int write_all(int descriptor, std::span<const std::byte> bytes);

// Flushes a file or directory, or what a link points to, to the disk. File systems that can't flush a directory are no
// error.
int sync_descriptor(int descriptor);
int sync_path(const fs::path& path);

// The directory that contains `path`, "." if there is no other.
fs::path parent_of(const fs::path& path);

// `path` with a trailing '/' removed and, if it is a symbolic link, replaced by what it points to in the end
// (which need not exist). Returns 0 or ELOOP.
int follow_links(fs::path& path);

// A file or directory under a temporary name, locked against remove_leftovers and removed by the destructor
// unless it was renamed away and released.
class Temporary {
 public:
  enum class Kind { file, directory };

  Temporary() = default;
  ~Temporary();
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  // Creates it in `parent`, under a name that nothing has yet.
  int create(const fs::path& parent, Kind kind);

  const fs::path& path() const { return path_; }
  int descriptor() const { return descriptor_.get(); }
  void release() { path_.clear(); }

 private:
  fs::path path_;
  Descriptor descriptor_;
};

// True for names that Temporary gives.
bool is_temporary_name(std::string_view name);

// Name under which replace_by_two_renames moves a directory aside: this prefix and the directory's own name.
inline constexpr std::string_view kAsidePrefix = ".minigpt-old-";

// Locks what `path` names, for as long as the descriptor lives, unless somebody else has. Returns 0,
// EWOULDBLOCK if somebody has, or another errno value.
int lock_path(const fs::path& path, Descriptor& out);

}  // namespace minigpt::detail
