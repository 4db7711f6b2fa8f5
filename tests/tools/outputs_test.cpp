// What commands refuse to replace, so that a mistaken --out loses nothing.

#include <sys/stat.h>

#include <thread>

#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;

const std::string kTrain = "train --data english.txt --out m --steps 4" + std::string(kTiny);

// Refused, with and without being asked only to look, and `file` is as before.
void check_kept(const Desk& desk, const std::string& line, const std::string& file,
                const std::string& reason) {
  const std::string before = desk.read(file);
  CAPTURE(line);
  check_refused(desk, line + " --dry-run", reason);
  check_refused(desk, line, reason);
  CHECK(desk.read(file) == before);
}

TEST_CASE("a run does not replace what no run wrote") {
  const Desk desk;
  desk.write("english.txt", english_text());
  for (const char* name : {"tokenizer.json", "model.safetensors", "metrics.jsonl", "metrics.csv",
                           "watch.jsonl", "last/precious.txt"}) {
    fs::create_directories(desk.path() / "m/last");
    desk.write(fs::path("m") / name, "mine");
    check_kept(desk, kTrain, std::string("m/") + name, "m");
    fs::remove_all(desk.path() / "m");
  }
  // Folders and files in each other's place, also if an older model may be replaced.
  fs::create_directories(desk.path() / "m/metrics.jsonl");
  desk.write("m/metrics.jsonl/mine", "mine");
  check_kept(desk, kTrain + " --overwrite", "m/metrics.jsonl/mine", "m/metrics.jsonl is a folder");
  fs::remove_all(desk.path() / "m");
  fs::create_directories(desk.path() / "m");
  desk.write("m/last", "mine");
  check_kept(desk, kTrain + " --overwrite", "m/last", "m/last is not a folder");
}

TEST_CASE("T-07: a model that has lost its config.json is not replaced either") {
  const Desk desk;
  desk.write("english.txt", english_text());
  desk.copy_from(trained_desk(), "model");
  fs::rename(desk.path() / "model", desk.path() / "m");
  fs::remove(desk.path() / "m/config.json");
  check_kept(desk, kTrain, "m/model.safetensors", "m already holds a model; replace it with --overwrite");
  CHECK(desk.run(kTrain + " --overwrite").code == 0);
}

TEST_CASE("a run does not replace the text that it learns from") {
  const Desk desk;
  desk.copy_from(trained_desk(), "model");
  fs::rename(desk.path() / "model", desk.path() / "m");
  for (const char* name : {"m/metrics.jsonl", "m/config.json", "m/last/state.json"})
    check_kept(desk, "train --overwrite --out m --steps 4 --data " + std::string(name) + std::string(kTiny),
               name, std::string(name) + " is a file to read, and would be lost");
}

TEST_CASE("a folder that cannot be made is refused before the text is read") {
  const Desk desk;
  desk.write("english.txt", english_text());
  desk.write("file", "mine");
  fs::create_symlink("nothing", desk.path() / "dangling");
  const auto into = [&](const std::string& out) {
    return "train --data missing.txt --out " + out + std::string(kTiny);
  };
  check_kept(desk, into("file"), "file", "file: exists and is not a directory");
  check_kept(desk, into("file/m"), "file", "file: exists and is not a directory");
  check_kept(desk, into("dangling"), "file", "dangling: it is a link to nothing");
  check_kept(desk, into("dangling/m"), "file", "dangling: it is a link to nothing");
}

TEST_CASE("pages and graphs replace older ones, but neither what they are made of nor a model") {
  const Desk desk;
  desk.write("english.txt", english_text());
  desk.copy_from(trained_desk(), "model");
  ::mkfifo((desk.path() / "pipe").c_str(), 0600);
  fs::create_symlink("loop", desk.path() / "loop");
  for (const std::string command : {"inspect", "graph"}) {
    const std::string line = command + " --model model --data english.txt --out ";
    check_kept(desk, line + "english.txt", "english.txt", "is the file to read, and would be lost");
    check_kept(desk, line + "./english.txt", "english.txt", "is the file to read, and would be lost");
    for (const char* part : {"model/config.json", "model/model.safetensors", "model/metrics.csv",
                             "model/last/optimizer.safetensors"})
      check_kept(desk, line + part, part, "is part of a model, and would be lost");
    check_refused(desk, line + "pipe", "pipe is a device or a pipe");
    check_refused(desk, line + "/dev/full", "/dev/full is a device or a pipe");
    check_refused(desk, line + "loop", "loop cannot be written");
    check_refused(desk, line + "model", "model is a folder");
    check_refused(desk, line + "missing/page", "missing is not a folder");
  }
  desk.write("table.txt", "an older one");
  const Outcome run = desk.run("graph --model model --out table.txt");
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK(desk.read("table.txt") != "an older one");
}

TEST_CASE("T-07: two runs that begin at the same time do not replace each other's model") {
  const Desk desk;
  std::string long_text;
  while (long_text.size() < 24'000'000) long_text += english_text();
  desk.write("long.txt", long_text);
  desk.write("english.txt", english_text());
  const auto run = [&](const std::string& data) {
    return words_of("train --out m --steps 2 --data " + data + std::string(kTiny));
  };
  RunningCommand slow(run("long.txt"), desk.path());
  const Outcome quick = RunningCommand(run("english.txt"), desk.path()).wait();
  const Outcome late = slow.wait();
  // Whichever came first: one model, and the other run was refused.
  CHECK_MESSAGE(quick.code + late.code == 2, quick.text() << late.text());
}

}  // namespace
}  // namespace minigpt::test
