#include "models/metrics.h"

#include <doctest/doctest.h>

#include "models/event_file.h"
#include "models/watch.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"
#include "tests/sync_watch.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;

struct SaveRecorder : Recorder {
  int saves_begun = 0;
  void on_save_start(TrainState&) override { ++saves_begun; }
};

FileSeal seal_of(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return {static_cast<std::int64_t>(text.size()), checksum(text)};
}

TEST_CASE("metrics: a state that is saved holds both logs as they are, and whoever follows is told too") {
  const TemporaryFolder folder;
  SaveRecorder next;
  MetricsLog log(folder / "metrics.jsonl", 0, next);
  log.on_step({});
  TrainState state;
  log.on_save_start(state);
  CHECK(next.saves_begun == 1);
  CHECK(state.logs.size() == 2);
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) CHECK(state.logs[name] == seal_of(folder / name));
}

TEST_CASE("C-11: every log is on the disk before the state that speaks of it") {
  if (!test::SyncWatch::possible()) return;
  const TemporaryFolder folder;
  SaveRecorder next;
  MetricsLog metrics(folder / "metrics.jsonl", 0, next);
  EventLog events(folder.path(), 0, metrics);
  Watch watch(folder / "watch.jsonl", 1, 0);
  events.on_step({});
  std::map<std::string, FileSeal> flushed;
  TrainState state;
  {
    const test::SyncWatch looking([&](const std::filesystem::path& path) {
      flushed[path.filename().string()] = seal_of(path);
      return 0;
    });
    events.on_save_start(state);
    watch.on_save_start(state);
  }
  CHECK(next.saves_begun == 1);
  CHECK(state.logs.size() == 4);
  CHECK(flushed == state.logs);
}

}  // namespace
}  // namespace minigpt
