// Folders and files without the right to write or read them, links, pipes and devices.

#include <sys/stat.h>
#include <unistd.h>

#include "tests/crash/small_disk.h"

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

// The command as an ordinary user: nobody, if the tests run as the administrator.
struct UserDesk : NamesDesk {
  RunOptions user;
  UserDesk() {
    user.as_nobody = true;
    fs::permissions(path(), fs::perms::all);
  }
  Outcome run_as_user(const std::string& line) const { return run(line, user); }
  void allow(const std::string& name, int mode) const {
    REQUIRE(::chmod((path() / name).c_str(), static_cast<mode_t>(mode)) == 0);
  }
  void check_refused(const std::string& line, std::string_view file, std::string_view reason) const {
    const Outcome outcome = run_as_user(line);
    CAPTURE(line);
    CAPTURE(outcome.text());
    CHECK((outcome.code == 1 || outcome.code == 2));
    const std::vector<std::string> lines = lines_of(outcome.err);
    CHECK(lines.size() == 1);
    CHECK(contains(outcome.err, file));
    CHECK(contains(outcome.err, reason));
  }
};

const std::string kRun = names_run(6, 2), kResume = names_resume(9, 2);

TEST_CASE("T-06: without the right to write or read: one line that names the file, and nothing is lost") {
  const UserDesk desk;
  REQUIRE(desk.run_as_user(kRun).code == 0);
  const std::string state = desk.read("m/last/state.json"), weights = desk.read("m/model.safetensors");
  const std::string info = desk.run_as_user("info --model m").out;
  const auto unchanged = [&] {
    CHECK(desk.read("m/last/state.json") == state);
    CHECK(desk.read("m/model.safetensors") == weights);
    CHECK(desk.run_as_user("info --model m").out == info);
  };
  const struct {
    const char* name;
    int without, with;
    std::string line;
    const char* file;
  } cases[] = {
      {"m", 0555, 0755, kResume, "m: "},
      {"m", 0555, 0755, kRun + " --overwrite", "m: "},
      {"m", 0000, 0755, "sample --model m", "m"},
      {"m", 0000, 0755, kResume, "m"},
      {"m/last", 0000, 0755, kResume, "m/last"},
      {"m/last/state.json", 0000, 0644, kResume, "m/last/state.json"},
      {"m/last/model.safetensors", 0000, 0644, kResume, "m/last/model.safetensors"},
      {"m/config.json", 0000, 0644, "sample --model m", "m/config.json"},
      {"m/config.json", 0000, 0644, kResume, "m/config.json"},
      {"m/tokenizer.json", 0000, 0644, "sample --model m", "m/tokenizer.json"},
      {"m/model.safetensors", 0000, 0644, "sample --model m", "m/model.safetensors"},
      {"m/model.safetensors", 0000, 0644, kResume, "m/model.safetensors"},
      {"m/metrics.jsonl", 0444, 0644, kResume, "m/metrics.jsonl"},
      {"m/metrics.csv", 0444, 0644, kResume, "m/metrics.csv"},
      {"m/watch.jsonl", 0444, 0644, kResume, "m/watch.jsonl"},
      {"names.txt", 0000, 0644, kResume, "names.txt"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    desk.allow(c.name, c.without);
    desk.check_refused(c.line, c.file, "Permission denied");
    desk.allow(c.name, c.with);
    unchanged();
  }
  const Outcome resumed = desk.run_as_user(kResume);
  CHECK_MESSAGE(resumed.code == 0, resumed.text());
  check_complete(desk, 9);
}

TEST_CASE(
    "C-11: a write-protected last/ or model.safetensors is replaced as a whole, keeps its mode, and leaves "
    "nothing") {
  const UserDesk desk;
  REQUIRE(desk.run_as_user(kRun).code == 0);
  desk.allow("m/last", 0555);
  desk.allow("m/model.safetensors", 0444);
  const Outcome run = desk.run_as_user(kResume);
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(saved_step(desk) == 9);
  check_complete(desk, 9);
  CHECK(fs::status(desk.path() / "m/last").permissions() == static_cast<fs::perms>(0555));
  CHECK(fs::status(desk.path() / "m/model.safetensors").permissions() == static_cast<fs::perms>(0444));
  desk.allow("m/last", 0755);
}

TEST_CASE("T-06: where no folder can be made, or another one is in the way") {
  const UserDesk desk;
  fs::create_directory(desk.path() / "closed");
  desk.allow("closed", 0555);
  desk.write("file", "text");
  fs::create_symlink("nowhere/at/all", desk.path() / "dangling");
  ::mkfifo((desk.path() / "pipe").c_str(), 0666);
  const auto into = [](const std::string& out) {
    return "train --preset names --data names.txt --steps 2 --threads 1 --out " + out;
  };
  desk.check_refused(into("closed/m"), "closed/m", "Permission denied");
  desk.check_refused(into("file"), "file", "is not a directory");
  desk.check_refused(into("file/m"), "file/m", "ot a directory");
  desk.check_refused(into("pipe"), "pipe", "is not a directory");
  desk.check_refused(into("/dev/null"), "/dev/null", "is not a directory");
  desk.check_refused(into("dangling"), "dangling", "link to nothing");
  CHECK(desk.read("file") == "text");
  CHECK_FALSE(desk.has("closed/m"));
  for (const char* data : {"pipe", "/dev/zero", "/dev/null", "closed", "dangling"}) {
    const Outcome run =
        desk.run_as_user("train --preset names --steps 2 --out new --data " + std::string(data));
    CHECK_MESSAGE(refused_in_one_line(run), run.text());
    CHECK(contains(run.err, data));
  }
  CHECK_FALSE(desk.has("new"));
}

TEST_CASE("T-06: a model that belongs to somebody else can be used, not changed") {
  if (::geteuid() != 0 || !no_small_disk().empty()) {
    MESSAGE("skipped: it takes the administrator to make files of two owners");
    return;
  }
  const UserDesk desk;
  REQUIRE(desk.run(kRun).code == 0);
  const std::string state = desk.read("m/last/state.json");
  desk.check_refused(kResume, "m", "Permission denied");
  desk.check_refused(kRun + " --overwrite", "m", "Permission denied");
  CHECK(desk.run_as_user("sample --model m --tokens 3").code == 0);
  CHECK(desk.read("m/last/state.json") == state);
}

TEST_CASE("C-11: behind links everything is as without them") {
  const UserDesk desk;
  fs::create_directory(desk.path() / "far");
  desk.allow("far", 0777);
  fs::create_symlink("far", desk.path() / "m");
  const Outcome first = desk.run_as_user(kRun);
  REQUIRE_MESSAGE(first.code == 0, first.text());
  CHECK(fs::is_symlink(desk.path() / "m"));
  // Files and the state too, each in another place.
  fs::create_directory(desk.path() / "elsewhere");
  desk.allow("elsewhere", 0777);
  for (const char* name : {"last", "model.safetensors", "metrics.jsonl", "config.json"}) {
    fs::rename(desk.path() / "far" / name, desk.path() / "elsewhere" / name);
    fs::create_symlink("../elsewhere/" + std::string(name), desk.path() / "far" / name);
  }
  const Outcome run = desk.run_as_user(kResume);
  CHECK_MESSAGE(run.code == 0, run.text());
  check_complete(desk, 9);
  for (const char* name : {"last", "model.safetensors", "metrics.jsonl", "config.json"})
    CHECK(fs::is_symlink(desk.path() / "far" / name));
  for (const auto& entry : fs::directory_iterator(desk.path() / "elsewhere"))
    CHECK_FALSE(entry.path().filename().string().starts_with("."));
}

TEST_CASE("C-02: a pipe, a device or a folder in the place of a file is refused and never waited for") {
  const UserDesk desk;
  REQUIRE(desk.run_as_user(kRun).code == 0);
  fs::copy(desk.path() / "m", desk.path() / "good", fs::copy_options::recursive);
  const auto put = [&](const std::string& file, const auto& make) {
    fs::remove_all(desk.path() / "m");
    fs::copy(desk.path() / "good", desk.path() / "m", fs::copy_options::recursive);
    desk.allow("m", 0777);
    fs::remove_all(desk.path() / "m" / file);
    make(desk.path() / "m" / file);
    for (const std::string& line : {std::string("sample --model m --tokens 3"), kResume}) {
      const Outcome run = desk.run(line);
      CAPTURE(file);
      CAPTURE(line);
      CAPTURE(run.text());
      CHECK((run.code == 0 || refused_in_one_line(run)));
      if (run.code != 0) CHECK(contains(run.err, "m/" + file));
      if (line == kResume) CHECK(run.code != 0);
    }
  };
  for (const char* file :
       {"config.json", "tokenizer.json", "model.safetensors", "metrics.jsonl", "metrics.csv", "watch.jsonl",
        "last/state.json", "last/model.safetensors", "last/optimizer.safetensors"}) {
    put(file, [](const fs::path& path) { REQUIRE(::mkfifo(path.c_str(), 0666) == 0); });
    put(file, [](const fs::path& path) { fs::create_directory(path); });
    put(file, [](const fs::path& path) { fs::create_symlink("/dev/null", path); });
    put(file, [](const fs::path& path) { fs::create_symlink("/dev/zero", path); });
  }
}

TEST_CASE("T-06: files that a command writes besides: devices and pipes are left as they are") {
  const UserDesk desk;
  REQUIRE(desk.run_as_user(kRun).code == 0);
  ::mkfifo((desk.path() / "pipe").c_str(), 0666);
  for (const char* out : {"/dev/null", "/dev/full", "pipe", "m", "nowhere/page.html"}) {
    const Outcome run = desk.run("inspect --model m --data names.txt --threads 1 --out " + std::string(out));
    CAPTURE(run.text());
    CHECK((run.code == 0 || refused_in_one_line(run)));
  }
  CHECK(fs::is_character_file("/dev/null"));
  CHECK(fs::is_fifo(desk.path() / "pipe"));
  for (const char* figures : {"/dev/null", "names.txt", "pipe"}) {
    const Outcome run = desk.run("lesson simple-attention --figures " + std::string(figures));
    CAPTURE(run.text());
    CHECK((run.code == 1 || run.code == 2));
    CHECK(contains(lines_of(run.err).back(), figures));
  }
}

}  // namespace
}  // namespace minigpt::test
