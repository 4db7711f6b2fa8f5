#include "nn/files.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "nn/files_posix.h"
#include "tensor/error.h"
#include "tests/nn/temporary_folder.h"

using namespace minigpt;
using namespace minigpt::test;
namespace fs = std::filesystem;

TEST_CASE("a file is created and replaced, and nothing else remains") {
  const TemporaryFolder folder;
  const fs::path file = folder / "config.json";
  write_file_atomically(file, "old");
  write_file_atomically(file, "new and longer");
  CHECK(read_file(file) == "new and longer");
  write_file_atomically(file, "");
  CHECK(read_file(file).empty());
  CHECK(folder.names() == std::vector<std::string>{"config.json"});
}

TEST_CASE("any bytes come back") {
  const TemporaryFolder folder;
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  std::string large;
  for (int i = 0; i < 4096; ++i) large += all;
  write_file_atomically(folder / "f", large);
  CHECK(read_file(folder / "f") == large);
}

TEST_CASE("C-11: a symbolic link stays, what it points to is replaced") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "real");
  write_file_atomically(folder / "real" / "file", "old");
  fs::create_symlink("real/file", folder / "link");
  fs::create_symlink("link", folder / "link to link");
  write_file_atomically(folder / "link to link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::is_symlink(folder / "link to link"));
  CHECK(read_file(folder / "real" / "file") == "new");

  fs::create_symlink("real/none yet", folder / "dangling");
  write_file_atomically(folder / "dangling", "made");
  CHECK(read_file(folder / "real" / "none yet") == "made");

  fs::create_symlink("circle", folder / "circle");
  CHECK_THROWS_AS(write_file_atomically(folder / "circle", "x"), RunError);
}

TEST_CASE("the permissions of a replaced file are kept") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "secret", "old");
  fs::permissions(folder / "secret", fs::perms::owner_read | fs::perms::owner_write);
  write_file_atomically(folder / "secret", "new");
  CHECK(fs::status(folder / "secret").permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a target that is not a file is an error, and stays what it is") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "d");
  CHECK_THROWS_WITH_AS(
      write_file_atomically(folder / "d", "x"),
      fmt::format("[write_file] {}: can't replace the file: Is a directory", (folder / "d").string()).c_str(),
      RunError);
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(write_file_atomically(folder / "pipe", "x"), RunError);
  CHECK_THROWS_AS(read_file(folder / "pipe"), Error);
  CHECK_THROWS_WITH_AS(AppendFile(folder / "pipe"), doctest::Contains("[append_line]"), RunError);
  CHECK_THROWS_AS(write_file_atomically(folder / "none" / "file", "x"), RunError);
  CHECK_THROWS_AS(read_file(folder / "none"), Error);
  CHECK_THROWS_AS(read_file(folder.path()), Error);
  CHECK(folder.names() == std::vector<std::string>{"d", "pipe"});
}

TEST_CASE("C-11: at a file-size limit, the error is reported and the old file is still there") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "model", "old");
  AppendFile log(folder / "log");
  log.append_line("first");
  const int status = in_child([&] {
    const rlimit limit{1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    for (int attempt = 0; attempt < 2;
         ++attempt) {  // the limit's signal must neither end the process now nor later
      try {
        write_file_atomically(folder / "model", std::string(5000, 'x'));
        return 2;
      } catch (const RunError& error) {
        if (std::string(error.what()).find("model: can't write: File too large") == std::string::npos)
          return 3;
      }
    }
    try {
      log.append_line(std::string(5000, 'x'));
      return 4;
    } catch (const RunError&) {
    }
    log.append_line("second");
    return 0;
  });
  CHECK(status == 0);
  CHECK(read_file(folder / "model") == "old");
  CHECK(read_file(folder / "log") == "first\nsecond\n");
  CHECK(folder.names() == std::vector<std::string>{"log", "model"});
}

TEST_CASE("T-06: an output directory is checked, and created, before anything is written") {
  const TemporaryFolder folder;
  check_writable_directory(folder / "a" / "b");
  check_writable_directory(folder / "a" / "b");
  CHECK(fs::is_directory(folder / "a" / "b"));
  CHECK(fs::is_empty(folder / "a" / "b"));

  write_file_atomically(folder / "file", "x");
  CHECK_THROWS_WITH_AS(
      check_writable_directory(folder / "file"),
      fmt::format("[output directory] {}: exists and is not a directory", (folder / "file").string()).c_str(),
      Error);
  CHECK_THROWS_AS(check_writable_directory(folder / "file" / "sub"), Error);
}

TEST_CASE("T-06: a directory that can't be written is refused with the reason") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "locked");
  fs::permissions(folder / "locked", static_cast<fs::perms>(0555));
  const int status = in_child([&] {
    // The administrator may write everywhere: become somebody else.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    try {
      check_writable_directory(folder / "locked");
      return 2;
    } catch (const Error& error) {
      if (std::string(error.what()).find("can't create a file in it: Permission denied") == std::string::npos)
        return 3;
    }
    try {
      check_writable_directory(folder / "locked" / "sub");
      return 4;
    } catch (const Error& error) {
      return std::string(error.what()).find("can't create the directory: Permission denied") ==
                     std::string::npos
                 ? 5
                 : 0;
    }
  });
  CHECK(status == 0);
}

TEST_CASE("an append file grows by whole lines") {
  const TemporaryFolder folder;
  {
    AppendFile file(folder / "metrics.jsonl");
    file.append_line("{\"step\":1}");
    file.append_line("");
    CHECK_THROWS_AS(file.append_line("two\nlines"), Error);
  }
  AppendFile again(folder / "metrics.jsonl");
  AppendFile moved = std::move(again);
  moved.append_line("{\"step\":2}");
  moved.sync();
  CHECK(read_file(folder / "metrics.jsonl") == "{\"step\":1}\n\n{\"step\":2}\n");
  CHECK_THROWS_AS(AppendFile(folder.path()), RunError);
}

TEST_CASE("a torn last line is cut off when an append file is opened") {
  const TemporaryFolder folder;
  for (const auto& [before, after] :
       std::initializer_list<std::pair<const char*, const char*>>{{"1\n2\n3", "1\n2\nnew\n"},
                                                                  {"torn", "new\n"},
                                                                  {"", "new\n"},
                                                                  {"1\n", "1\nnew\n"},
                                                                  {"\n\nx", "\n\nnew\n"}}) {
    write_file_atomically(folder / "log", before);
    AppendFile(folder / "log").append_line("new");
    CHECK(read_file(folder / "log") == after);
  }
}

TEST_CASE("a resumed run cuts its log back to the saved step") {
  const TemporaryFolder folder;
  AppendFile file(folder / "log");
  for (int step = 1; step <= 5; ++step) file.append_line(std::to_string(step));
  const auto up_to_3 = [&](std::string_view line) { return line <= "3"; };
  CHECK(file.cut_after_last(up_to_3) == 3);
  CHECK(read_file(folder / "log") == "1\n2\n3\n");
  file.append_line("4 again");
  CHECK(read_file(folder / "log") == "1\n2\n3\n4 again\n");
  CHECK(file.cut_after_last([](std::string_view) { return true; }) == 4);
  CHECK(file.cut_after_last([](std::string_view) { return false; }) == 0);
  CHECK(read_file(folder / "log").empty());
}

TEST_CASE("a damaged line in the middle of a log costs no other line") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "log", "1\n2\nrubbish\n4\n5\n");
  AppendFile file(folder / "log");
  CHECK(file.cut_after_last([](std::string_view line) { return line <= "4"; }) == 4);
  CHECK(read_file(folder / "log") == "1\n2\nrubbish\n4\n");
}

TEST_CASE("a log knows its length and checksum, whatever was added, cut off or there before") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "log", "1\n2\ntorn");
  AppendFile file(folder / "log");
  const auto expect = [&](const std::string& content) {
    CHECK(read_file(folder / "log") == content);
    CHECK(file.seal() == FileSeal{static_cast<std::int64_t>(content.size()), checksum(content)});
  };
  expect("1\n2\n");
  file.append_line("3");
  expect("1\n2\n3\n");
  file.cut_after_last([](std::string_view line) { return line == "1"; });
  expect("1\n");
  file.append_line("4");
  AppendFile moved = std::move(file);
  moved.append_line("5");
  CHECK(moved.seal() == FileSeal{6, checksum("1\n4\n5\n")});
  AppendFile other(folder / "other");
  other = std::move(moved);
  other.append_line("6");
  CHECK(other.seal() == FileSeal{8, checksum("1\n4\n5\n6\n")});
  CHECK(read_file(folder / "other").empty());
}

TEST_CASE("files that are open are not handed to programs that are started") {
  const TemporaryFolder folder;
  detail::Descriptor descriptor;
  REQUIRE(detail::open_file(folder / "log", O_RDWR | O_CREAT, 0600, descriptor) == 0);
  CHECK((::fcntl(descriptor.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("a signal of the file-size limit that was waiting before a write is left to wait") {
  const TemporaryFolder folder;
  const int status = in_child([&] {
    sigset_t limit;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    if (::pthread_sigmask(SIG_BLOCK, &limit, nullptr) != 0 || ::raise(SIGXFSZ) != 0) return 1;
    write_file_atomically(folder / "file", "x");
    sigset_t waiting;
    return ::sigpending(&waiting) == 0 && ::sigismember(&waiting, SIGXFSZ) == 1 ? 0 : 2;
  });
  CHECK(status == 0);
}
