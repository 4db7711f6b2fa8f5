// Directories replaced as a whole, and what a killed process leaves behind.

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "nn/files.h"
#include "nn/files_posix.h"
#include "tensor/error.h"
#include "tests/nn/temporary_folder.h"

using namespace minigpt;
using namespace minigpt::test;
namespace fs = std::filesystem;

namespace {

// Fills a directory with two files and a nested one, all of the same generation.
auto generation(const std::string& text) {
  return [text](const fs::path& dir) {
    write_file_atomically(dir / "model", text);
    fs::create_directory(dir / "nested");
    std::ofstream(dir / "nested" / "state") << text;
  };
}

// The generation in `dir`; checks that its files belong together.
std::string generation_of(const fs::path& dir) {
  const std::string text = read_file(dir / "model");
  CHECK(read_file(dir / "nested" / "state") == text);
  return text;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("a directory is created and replaced as a whole") {
  const TemporaryFolder folder;
  const fs::path last = folder / "last";
  replace_directory(last, generation("1"));
  CHECK(generation_of(last) == "1");
  std::ofstream(last / "extra") << "of the old directory";
  replace_directory(last, generation("2"));
  CHECK(generation_of(last) == "2");
  CHECK(!fs::exists(last / "extra"));
  replace_directory(last / "", generation("3"));  // a trailing slash changes nothing
  CHECK(generation_of(last) == "3");
  CHECK(folder.names() == Names{"last"});
}

TEST_CASE("the new directory is not in place before it is complete") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("1"));
  replace_directory(folder / "last", [&](const fs::path& fresh) {
    CHECK(fs::is_empty(fresh));
    CHECK(fresh.parent_path() == folder.path());  // a rename can't cross file systems
    generation("2")(fresh);
    CHECK(generation_of(folder / "last") == "1");
    CHECK(remove_leftovers(folder.path()) == 0);  // what is being written is no leftover
  });
  CHECK(generation_of(folder / "last") == "2");
}

TEST_CASE("a failing save leaves the old directory and no other") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("1"));
  CHECK_THROWS_AS(replace_directory(folder / "last",
                                    [](const fs::path& fresh) {
                                      generation("2")(fresh);
                                      throw std::logic_error("in the middle of a save");
                                    }),
                  std::logic_error);
  CHECK(generation_of(folder / "last") == "1");
  CHECK(folder.names() == Names{"last"});

  std::ofstream(folder / "file") << "x";
  CHECK_THROWS_AS(replace_directory(folder / "file", generation("1")), RunError);
  CHECK_THROWS_AS(replace_directory(folder / "none" / "last", generation("1")), RunError);
  CHECK(folder.names() == Names{"file", "last"});
}

TEST_CASE("C-11: a symbolic link stays, the directory it points to is replaced") {
  const TemporaryFolder folder;
  replace_directory(folder / "real", generation("1"));
  fs::create_symlink("real", folder / "link");
  replace_directory(folder / "link", generation("2"));
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(generation_of(folder / "real") == "2");
  CHECK(folder.names() == Names{"link", "real"});
}

TEST_CASE("where directories can't be exchanged, two renames do the same") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("1"));
  replace_directory(folder / "fresh", generation("2"));
  CHECK(detail::replace_by_two_renames(folder / "fresh", folder / "last") == 0);
  CHECK(generation_of(folder / "last") == "2");
  CHECK(folder.names() == Names{".minigpt-old-last", "last"});
  CHECK(remove_leftovers(folder.path()) == 1);  // the old one is outdated
  CHECK(folder.names() == Names{"last"});

  CHECK(detail::replace_by_two_renames(folder / "none", folder / "last") == ENOENT);
  CHECK(generation_of(folder / "last") == "2");
  CHECK(folder.names() == Names{"last"});
}

TEST_CASE("an old directory that an earlier crash left aside does not stop two renames") {
  const TemporaryFolder folder;
  replace_directory(folder / ".minigpt-old-last", generation("0"));
  replace_directory(folder / "last", generation("1"));
  replace_directory(folder / "fresh", generation("2"));
  CHECK(detail::replace_by_two_renames(folder / "fresh", folder / "last") == 0);
  CHECK(generation_of(folder / "last") == "2");
  CHECK(generation_of(folder / ".minigpt-old-last") == "1");
}

TEST_CASE("the permissions of a replaced directory are kept") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("1"));
  fs::permissions(folder / "last", fs::perms::owner_all);
  replace_directory(folder / "last", generation("2"));
  CHECK(fs::status(folder / "last").permissions() == fs::perms::owner_all);
}

TEST_CASE("leftovers that are write-protected are removed too") {
  const TemporaryFolder folder;
  const fs::path own = folder / "own";
  fs::create_directory(own);
  fs::permissions(own, fs::perms::all);
  const int status = in_child([&] {
    // The administrator may remove everything: become somebody else.
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 1;
    fs::create_directory(own / ".minigpt-tmp-1-2");
    std::ofstream(own / ".minigpt-tmp-1-2" / "model") << "x";
    fs::permissions(own / ".minigpt-tmp-1-2", fs::perms::owner_read | fs::perms::owner_exec);
    return remove_leftovers(own) == 1 ? 0 : 2;
  });
  CHECK(status == 0);
  CHECK(fs::is_empty(own));
}

TEST_CASE("a crash between the two renames is repaired") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("1"));
  fs::rename(folder / "last", folder / ".minigpt-old-last");
  CHECK(remove_leftovers(folder.path()) == 1);
  CHECK(generation_of(folder / "last") == "1");
  CHECK(folder.names() == Names{"last"});
}

TEST_CASE("leftovers are recognised by their names, and nothing else is touched") {
  const TemporaryFolder folder;
  const Names kept = {".hidden",        ".minigpt-old-",    ".minigpt-tmp-",
                      ".minigpt-tmp-1", ".minigpt-tmp-1-x", "minigpt-tmp-1-2"};
  for (const std::string& name : kept) std::ofstream(folder / name) << "x";
  std::ofstream(folder / ".minigpt-tmp-1-2") << "x";
  fs::create_directories(folder / ".minigpt-tmp-1-3" / "nested");
  fs::create_symlink(folder / ".hidden", folder / ".minigpt-tmp-1-4");
  fs::create_symlink(folder.path(), folder / ".minigpt-tmp-1-5");
  CHECK(remove_leftovers(folder.path()) == 4);
  CHECK(folder.names() == kept);
  CHECK(remove_leftovers(folder.path()) == 0);
  CHECK(remove_leftovers(folder / "none") == 0);
}

TEST_CASE("a name that an earlier process left does not stop a save") {
  const TemporaryFolder folder;
  for (int i = 0; i < 1000; i += 2)
    std::ofstream(folder / (".minigpt-tmp-" + std::to_string(::getpid()) + "-" + std::to_string(i))) << "";
  write_file_atomically(folder / "file", "x");
  CHECK(read_file(folder / "file") == "x");
  CHECK(remove_leftovers(folder.path()) == 500);
  CHECK(folder.names() == Names{"file"});
}

TEST_CASE("C-11: a process that is killed while it saves leaves the old or the new state") {
  const TemporaryFolder folder;
  replace_directory(folder / "last", generation("0"));
  write_file_atomically(folder / "best", std::string(100'000, '0'));
  for (int round = 0; round < 25; ++round) {
    CAPTURE(round);
    int pipe_ends[2];
    REQUIRE(::pipe(pipe_ends) == 0);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      for (int i = 1;; ++i) {
        const char started = 'x';
        if (::write(pipe_ends[1], &started, 1) != 1) ::_exit(1);
        replace_directory(folder / "last", generation(std::to_string(i)));
        write_file_atomically(folder / "best", std::string(100'000, static_cast<char>('0' + i % 10)));
      }
    }
    ::close(pipe_ends[1]);
    char byte = 0;
    for (int i = 0; i <= round % 3; ++i) REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);
    // Somewhere within the save that was just announced; where does not matter to what is checked.
    for (int spin = 0; spin < round * 200; ++spin) ::getppid();
    ::kill(child, SIGKILL);
    ::close(pipe_ends[0]);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));

    generation_of(folder / "last");
    const std::string best = read_file(folder / "best");
    CHECK(best.size() == 100'000);
    CHECK(best.find_first_not_of(best[0]) == std::string::npos);
    remove_leftovers(folder.path());
    CHECK(folder.names() == Names{"best", "last"});
  }
}
