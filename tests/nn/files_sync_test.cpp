// What must be on the disk before what, so that a power cut finds the old state or the new one.

#include <doctest/doctest.h>

#include <cerrno>
#include <fstream>

#include "nn/files.h"
#include "nn/files_posix.h"
#include "tensor/error.h"
#include "tests/nn/temporary_folder.h"
#include "tests/sync_watch.h"

using namespace minigpt;
using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

// The last part of a path; "new" for a temporary name.
std::string short_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return detail::is_temporary_name(name) ? "new" : name;
}

// Says so, and is false, where the system does not tell.
bool can_watch() {
  if (SyncWatch::possible()) return true;
  MESSAGE("skipped: the system does not tell which file a descriptor stands for");
  return false;
}

}  // namespace

TEST_CASE("C-11: a file's content is flushed before it takes its name, and the name after that") {
  if (!can_watch()) return;
  const TemporaryFolder folder;
  write_file_atomically(folder / "model", "old");
  Names seen;
  {
    const SyncWatch watch([&](const fs::path& path) {
      const std::string content = fs::is_directory(path) ? "" : " with " + read_file(path);
      seen.push_back(short_name(path) + content + ", model is " + read_file(folder / "model"));
      return 0;
    });
    write_file_atomically(folder / "model", "fresh");
  }
  CHECK(seen ==
        Names{"new with fresh, model is old", folder.path().filename().string() + ", model is fresh"});
}

TEST_CASE("C-11: all of a directory is flushed before it takes its name, and the old one goes last") {
  if (!can_watch()) return;
  const TemporaryFolder folder;
  const auto generation = [](const std::string& text) {
    return [text](const fs::path& dir) {
      fs::create_directory(dir / "nested");
      for (const char* name : {"model", "nested/state"}) std::ofstream(dir / name) << text;
    };
  };
  const fs::path last = folder / "last";
  replace_directory(last, generation("old"));
  Names before, after;
  std::size_t directories = 0;
  {
    const SyncWatch watch([&](const fs::path& path) {
      const bool old = read_file(last / "model") == "old";
      (old ? before : after).push_back(short_name(path));
      if (!old) directories = folder.names().size();
      return 0;
    });
    replace_directory(last, generation("fresh"));
  }
  std::sort(before.begin(), before.end());
  CHECK(before == Names{"model", "nested", "new", "state"});
  CHECK(after == Names{folder.path().filename().string()});
  CHECK(directories == 2);  // the old directory is there until then
  CHECK(folder.names() == Names{"last"});
}

TEST_CASE("C-11: a log is flushed when asked to, and after lines were cut off") {
  if (!can_watch()) return;
  const TemporaryFolder folder;
  AppendFile log(folder / "log");
  Names seen;
  const SyncWatch watch([&](const fs::path& path) {
    seen.push_back(short_name(path) + ": " + read_file(path));
    return 0;
  });
  log.append_line("1");
  log.append_line("2");
  CHECK(seen.empty());  // a line costs no trip to the disk
  log.sync();
  log.cut_after_last([](std::string_view line) { return line == "1"; });
  CHECK(seen == Names{"log: 1\n2\n", "log: 1\n"});
}

TEST_CASE("T-06: whether a directory can be written is tried with a block that reaches the disk") {
  if (!can_watch()) return;
  const TemporaryFolder folder;
  std::vector<std::uintmax_t> sizes;
  const SyncWatch watch([&](const fs::path& path) {
    sizes.push_back(fs::file_size(path));
    return ENOSPC;
  });
  CHECK_THROWS_WITH_AS(check_writable_directory(folder.path()),
                       doctest::Contains("can't write a file in it: No space left on device"), Error);
  CHECK(sizes == std::vector<std::uintmax_t>{4096});
  CHECK(folder.names().empty());
}

TEST_CASE("C-11: content that does not reach the disk takes no name, and the error says so") {
  if (!can_watch()) return;
  const TemporaryFolder folder;
  write_file_atomically(folder / "model", "old");
  const auto fill = [](const fs::path& dir) { std::ofstream(dir / "state") << "fresh"; };
  const auto no_fill = [](const fs::path&) {};
  replace_directory(folder / "last", no_fill);
  AppendFile log(folder / "log");
  {
    const SyncWatch watch([](const fs::path&) { return EIO; });
    constexpr const char* kWhy = "can't flush to the disk: Input/output error";
    CHECK_THROWS_WITH_AS(write_file_atomically(folder / "model", "fresh"), doctest::Contains(kWhy), RunError);
    CHECK_THROWS_WITH_AS(replace_directory(folder / "last", fill), doctest::Contains(kWhy), RunError);
    CHECK_THROWS_WITH_AS(log.sync(), doctest::Contains("can't flush: Input/output error"), RunError);
  }
  CHECK(read_file(folder / "model") == "old");
  CHECK(fs::is_empty(folder / "last"));
  CHECK(folder.names() == Names{"last", "log", "model"});
  {  // what has nothing to flush, such as some network file systems
    const SyncWatch watch([](const fs::path&) { return EINVAL; });
    CHECK_NOTHROW(write_file_atomically(folder / "model", "fresh"));
  }
  CHECK(read_file(folder / "model") == "fresh");
}
