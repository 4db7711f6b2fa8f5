// A disk that gets full: at the first save, at a later one, in a log, in the output of a command.

#include "tensor/recycling.h"
#include "tests/crash/small_disk.h"

namespace minigpt::test {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kAmple = 4 << 20;

#define NEEDS_SMALL_DISK()                                           \
  if (!no_small_disk().empty()) {                                    \
    MESSAGE("skipped, there is no small disk: " << no_small_disk()); \
    return;                                                          \
  }

// names.txt on the test's own disk, the model on a small one below "d".
struct DiskDesk : NamesDesk {
  SmallDisk disk{path() / "d", kAmple};
};

std::string on_disk(std::string line) {
  const std::size_t at = line.find("--out m");
  return line.replace(at, 7, "--out d/m");
}

// Exit code 1 (2 where the folder itself was refused at the start), and the last line names a file and the reason.
void check_says_full(const Outcome& run, std::string_view reason, std::string_view file = "d/m") {
  CAPTURE(run.text());
  CHECK((run.code == 1 || run.code == 2));
  const std::vector<std::string> lines = lines_of(run.err);
  REQUIRE(!lines.empty());
  CHECK(lines.back().starts_with("minigpt: "));
  CHECK(contains(lines.back(), file));
  CHECK(contains(lines.back(), reason));
}

TEST_CASE(
    "C-11: a full disk at any amount of room: the run stops with the reason, and goes on once there is "
    "room") {
  NEEDS_SMALL_DISK();
  // How much a whole run takes.
  std::int64_t most = 0;
  std::string weights;
  {
    const DiskDesk desk;
    REQUIRE(desk.run(on_disk(names_run(12, 3))).code == 0);
    most = desk.disk.used_bytes();
    weights = desk.read("d/m/last/model.safetensors");
  }
  // While a save replaces an older one, both are there.
  const std::int64_t pages = 2 * most / kPage,
                     stride = long_form() ? 1 : std::max<std::int64_t>(1, pages / 10);
  int failed = 0, with_state = 0;
  for (std::int64_t room = 1; room <= pages; room += stride) {
    CAPTURE(room);
    DiskDesk desk;
    desk.disk.resize(room * kPage);
    const Outcome run = desk.run(on_disk(names_run(12, 3)));
    if (run.code == 0) break;
    ++failed;
    check_says_full(run, "No space left on device");
    const std::int64_t saved = saved_step(desk, "d/m");
    CHECK(saved >= reported_step(run.out));
    if (desk.has("d/m")) check_usable(desk, "d/m");
    // Full again: nothing gets worse.
    if (saved >= 0) {
      ++with_state;
      const Outcome again = desk.run(on_disk(names_resume(12, 3)));
      if (again.code != 0) check_says_full(again, "No space left on device");
      CHECK(saved_step(desk, "d/m") >= saved);
    }
    desk.disk.resize(kAmple);
    const Outcome last = desk.run(on_disk(saved >= 0 ? names_resume(12, 3) : names_run(12, 3)));
    CAPTURE(last.text());
    REQUIRE(last.code == 0);
    check_complete(desk, 12, "d/m");
    CHECK(desk.read("d/m/last/model.safetensors") == weights);
  }
  CHECK(failed > 3);
  MESSAGE(failed << " sizes of the disk were too small, " << with_state << " of them after a first save");
}

TEST_CASE("C-11: no inode is left: the same") {
  NEEDS_SMALL_DISK();
  int failed = 0;
  for (std::int64_t inodes = 2; inodes < 20; ++inodes) {
    CAPTURE(inodes);
    DiskDesk desk;
    desk.disk.resize(kAmple, inodes);
    const Outcome run = desk.run(on_disk(names_run(6, 2)));
    if (run.code == 0) break;
    ++failed;
    check_says_full(run, "No space left on device");
    const std::int64_t saved = saved_step(desk, "d/m");
    CHECK(saved >= reported_step(run.out));
    desk.disk.resize(kAmple);
    const Outcome last = desk.run(on_disk(saved >= 0 ? names_resume(6, 2) : names_run(6, 2)));
    CAPTURE(last.text());
    REQUIRE(last.code == 0);
    check_complete(desk, 6, "d/m");
  }
  CHECK(failed > 3);
}

TEST_CASE("C-11: a log grows until the disk is full: its last line is whole, the state before it stays") {
  NEEDS_SMALL_DISK();
  DiskDesk desk;
  REQUIRE(desk.run(on_disk(names_run(4, 2))).code == 0);
  const std::int64_t used = desk.disk.used_bytes();
  for (std::int64_t room = 0; room < 4; ++room) {
    CAPTURE(room);
    desk.disk.resize(used + room * kPage);
    // No save is due before the disk is full.
    const Outcome run = desk.run(on_disk(names_resume(2000, 100000)));
    check_says_full(run, "No space left on device");
    CHECK(saved_step(desk, "d/m") == 4);
    for (const char* log : {"d/m/metrics.jsonl", "d/m/metrics.csv", "d/m/watch.jsonl"})
      CHECK(desk.read(log).ends_with("\n"));
  }
  desk.disk.resize(kAmple);
  REQUIRE(desk.run(on_disk(names_resume(9, 2))).code == 0);
  check_complete(desk, 9, "d/m");
}

TEST_CASE("C-11: TensorBoard's file on a full disk is an error like the others") {
  NEEDS_SMALL_DISK();
  DiskDesk desk;
  REQUIRE(desk.run(on_disk("train --preset names --data names.txt --out m --steps 4 --threads 1")).code == 0);
  desk.disk.resize(desk.disk.used_bytes() + 2 * kPage);
  const Outcome run =
      desk.run(on_disk("train --resume --out m --steps 3000 --save-every 100000 --tensorboard --threads 1"));
  check_says_full(run, "No space left on device");
}

TEST_CASE("C-11: output of every command into a full file ends with 1 and says why") {
  NEEDS_SMALL_DISK();
  DiskDesk desk;
  REQUIRE(desk.run(names_run(4, 2)).code == 0);
  desk.write("d/out", "");
  desk.write("d/filler", std::string(kPage, 'x'));
  desk.disk.resize(kPage);  // a new file may be made, but nothing written
  RunOptions into;
  into.output_file = (desk.path() / "d/out").string();
  for (const char* line :
       {"sample --model m --tokens 60 --samples 40 --json --threads 1",
        "sample --model m --tokens 9000 --threads 1", "inspect --model m --data names.txt --json --threads 1",
        "graph --model m --data names.txt", "lesson whole-flow",
        "train --preset names --data names.txt --out m2 --steps 200 --log-every 1 --json"}) {
    const Outcome run = desk.run(line, into);
    CAPTURE(std::string(line));
    check_says_full(run, "No space left on device", "standard output");
  }
}

TEST_CASE("C-11: files that a command writes besides: the whole file or none") {
  NEEDS_SMALL_DISK();
  DiskDesk desk;
  REQUIRE(desk.run(names_run(4, 2)).code == 0);
  for (const std::int64_t room : {1, 2, 3, 5, 8}) {
    CAPTURE(room);
    desk.disk.resize(room * kPage);
    const Outcome page = desk.run("inspect --model m --data names.txt --out d/page.html --threads 1");
    if (page.code != 0) {
      CHECK_FALSE(desk.has("d/page.html"));
      if (!contains(page.err, "npm")) check_says_full(page, "No space left on device", "d/page.html");
    }
    const Outcome figures = desk.run("lesson whole-flow --figures d/figures");
    if (figures.code != 0) check_says_full(figures, "No space left on device", "d/figures");
    std::filesystem::remove_all(desk.path() / "d/figures");
    std::filesystem::remove(desk.path() / "d/page.html");
  }
}

TEST_CASE("C-11: a limit on the size of files, or on open files, is an error and no sudden death") {
  const NamesDesk desk;
  for (const long limit : {1000, 3000, 8000, 20000}) {
    CAPTURE(limit);
    RunOptions small;
    small.file_size_limit = limit;
    const Outcome run = desk.run(names_run(40, 3), small);
    check_says_full(run, "File too large", "m");
    const std::int64_t saved = saved_step(desk);
    CHECK(saved >= reported_step(run.out));
    const Outcome last = desk.run(saved >= 0 ? names_resume(40, 3) : names_run(40, 3));
    CHECK_MESSAGE(last.code == 0, last.text());
    check_complete(desk, 40);
    std::filesystem::remove_all(desk.path() / "m");
  }
#if !defined( \
    MINIGPT_ASAN)  // the sanitizer takes descriptors of its own, and reports what it could not look at
  // With too few the program does not even start: its libraries are files too.
  for (long files = 5; files <= 12; ++files) {
    CAPTURE(files);
    RunOptions few;
    few.open_file_limit = files;
    const Outcome run = desk.run(names_run(6, 2), few);
    if (contains(run.err, "shared libraries")) continue;
    if (run.code != 0) check_says_full(run, "Too many open files", "");
    CHECK((run.code == 0 || run.code == 1));  // wherever it met the limit
    CHECK(saved_step(desk) >= reported_step(run.out));
    // Also after success: what could not be removed for want of a descriptor is removed now.
    const Outcome last = desk.run(saved_step(desk) >= 0 ? names_resume(7, 2) : names_run(7, 2));
    CHECK_MESSAGE(last.code == 0, last.text());
    check_complete(desk, 7);
    std::filesystem::remove_all(desk.path() / "m");
  }
#endif
}

}  // namespace
}  // namespace minigpt::test
