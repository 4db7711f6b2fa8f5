// kill -9 at every system call that changes a file: whatever moment a crash chooses, it is one of these.

#include <map>
#include <memory>

#include "tests/crash/crash_testing.h"
#include "tests/crash/traced_command.h"

namespace minigpt::test {
namespace {

constexpr std::int64_t kSteps = 4;

std::string weights_after(std::int64_t steps) {
  const NamesDesk desk;
  const Outcome run = desk.run(names_run(steps, 1000));
  REQUIRE_MESSAGE(run.code == 0, run.text());
  return desk.read("m/last/model.safetensors");
}

// What a crash leaves must be usable, and go on to the weights of an unbroken run.
void check_recovers(const Desk& desk, std::int64_t steps, const std::string& weights) {
  const std::int64_t reported = desk.has("output") ? reported_step(desk.read("output")) : -1;
  const std::int64_t saved = saved_step(desk);
  CHECK(saved >= reported);
  check_usable(desk);
  Outcome run = desk.run(names_resume(steps, 2));
  if (saved < 0) {
    CHECK_MESSAGE(refused_in_one_line(run), run.text());
    run = desk.run(names_run(steps, 2));
  }
  CAPTURE(run.text());
  REQUIRE(run.code == 0);
  std::filesystem::remove(desk.path() / "output");
  check_complete(desk, steps);
  CHECK(desk.read("m/last/model.safetensors") == weights);
}

// Kills the command at every `stride`-th change from a random one on.
void sweep(const Desk& start, const std::string& line, std::int64_t steps, std::int64_t wanted) {
  const std::string weights = weights_after(steps);
  const auto fresh = [&] {
    auto desk = std::make_unique<NamesDesk>();
    if (start.has("m")) desk->copy_from(start, "m");
    return desk;
  };
  const auto whole_desk = fresh();
  const TracedRun whole = run_traced(words_of(line), whole_desk->path(), whole_desk->path() / "output", -1);
  if (!whole.possible) {
    MESSAGE("skipped: the system does not allow ptrace");
    return;
  }
  REQUIRE(whole.code == 0);
  REQUIRE(whole.changes > 50);
  const std::int64_t stride = std::max<std::int64_t>(1, whole.changes / wanted);
  std::map<std::string, int> calls;
  std::int64_t kills = 0;
  for (std::int64_t at = random_between(0, stride - 1); at < whole.changes; at += stride) {
    const auto desk = fresh();
    const TracedRun run = run_traced(words_of(line), desk->path(), desk->path() / "output", at);
    INFO("killed before change " << at << " of " << whole.changes << ": " << run.call);
    REQUIRE(run.killed);
    check_recovers(*desk, steps, weights);
    ++calls[run.call];
    ++kills;
  }
  std::string text;
  for (const auto& [call, count] : calls) text += " " + call + " " + std::to_string(count);
  MESSAGE(kills << " of " << whole.changes << " moments tried, before:" << text);
}

TEST_CASE("C-11: killed before any change on the disk, from the first one of a new run on") {
  sweep(Desk(), names_run(kSteps, 2), kSteps, long_form() ? 100000 : 12);
}

TEST_CASE("C-11: killed before any change on the disk while a run is being resumed") {
  const NamesDesk start;
  REQUIRE(start.run(names_run(kSteps, 2)).code == 0);
  sweep(start, names_resume(kSteps + 3, 2), kSteps + 3, long_form() ? 100000 : 12);
}

}  // namespace
}  // namespace minigpt::test
