#pragma once
// Files that survive a crash.
//
// A save happens completely or not at all. New content is written under a temporary name beside the target,
// flushed to the disk, and put in place by one rename, which the file system does in one piece: whoever
// looks, even after a power cut, finds the old content or the new. What a killed process leaves behind is
// recognised by its name, ".minigpt-tmp-<process>-<number>", and removed by remove_leftovers.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/checksum.h"

namespace minigpt {

// The whole content of a regular file. Throws Error with the path and the reason.
std::string read_file(const std::filesystem::path& path);

// Replaces the content of `path`, or creates it. A symbolic link stays, and the file it points to is
// replaced. An existing file keeps its permissions. Throws RunError with path and reason (disk full, no
// permission, ...); the old content is then untouched and the temporary file is gone.
// `pieces` are written one after the other.
void write_file_atomically(const std::filesystem::path& path,
                           const std::vector<std::span<const std::byte>>& pieces);
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> content);
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Replaces the directory `dir`, or creates it (its parent must exist), by one that `fill` makes: fill is
// called with a fresh empty directory beside it and writes the files. All of them are flushed before the two
// directories are exchanged, and the old one is removed after that. A symbolic link stays, and the directory
// it points to is replaced. Throws RunError with path and reason, and whatever fill throws; `dir` is then
// untouched.
void replace_directory(const std::filesystem::path& dir,
                       const std::function<void(const std::filesystem::path&)>& fill);

// Removes what earlier processes that were killed during a save left in `parent`, and returns how many things
// it removed or put back. What a living process is still writing is left alone, and so is what can't be
// removed. Call it before reading a directory that replace_directory writes: on file systems that can't
// exchange two directories a crash may leave the old one under another name, and this puts it back.
int remove_leftovers(const std::filesystem::path& parent);

// Makes sure that files can be written in `path` before an hour of training depends on it: creates the
// directory and its parents if missing, then creates, writes and removes a file. Throws Error with the
// reason: not a directory, no permission, read-only file system, disk full.
void check_writable_directory(const std::filesystem::path& path);

// A text file that grows line by line, like the log of a run.
class AppendFile {
 public:
  // Opens or creates `path`. A last line without its '\n', torn by a crash, is cut off. Throws RunError.
  explicit AppendFile(const std::filesystem::path& path);
  ~AppendFile();
  AppendFile(AppendFile&& other) noexcept;
  AppendFile& operator=(AppendFile&& other) noexcept;
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Adds `line` and '\n', handed to the system as one write so that readers never see half of it. Throws
  // RunError if it can't be written (the file is then as before), Error if the line contains '\n'.
  void append_line(std::string_view line);

  // Cuts the file off after the last line (without its '\n') for which `keep` is true; returns the number of
  // lines that stay. A resumed run calls it to forget what came after the step it continues from: a damaged
  // line in between costs no other. Throws RunError.
  std::int64_t cut_after_last(const std::function<bool(std::string_view)>& keep);

  // Length and checksum of all lines, as this object has read and written them.
  FileSeal seal() const { return {size_, sum_.text()}; }

  // Flushes all lines to the disk; without it, lines survive the end of the program but perhaps not a power
  // cut.
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  std::int64_t size_ = 0;
  Checksum sum_;
};

namespace detail {

// The bytes of a regular file, in one allocation. `inspect` sees the first bytes (up to 512) and the size
// before that, and may throw. Throws Error("[op] path: reason").
std::vector<std::byte> read_bytes(
    const std::filesystem::path& path, std::string_view op,
    const std::function<void(std::span<const std::byte> head, std::uint64_t size)>& inspect = {});

// The second half of replace_directory where two directories can't be exchanged at once: moves `dir` aside,
// moves `fresh` to its place. Returns 0 or errno; `dir` is then back. A crash in between is repaired by
// remove_leftovers.
int replace_by_two_renames(const std::filesystem::path& fresh, const std::filesystem::path& dir);

}  // namespace detail
}  // namespace minigpt
