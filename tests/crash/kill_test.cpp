// kill -9 at random moments: at start-up, between saves, within them, and while a run is being resumed.

#include <chrono>
#include <thread>

#include "tests/crash/crash_testing.h"

namespace minigpt::test {
namespace {

constexpr std::int64_t kSteps = 120;

struct Unbroken {
  std::string weights;        // at the end
  std::int64_t microseconds;  // that the run takes here and now, so that kills fall into all parts of one
};

Unbroken unbroken_run() {
  const NamesDesk desk;
  const auto start = std::chrono::steady_clock::now();
  const Outcome run = desk.run(names_run(kSteps, 3));
  const auto time = std::chrono::steady_clock::now() - start;
  REQUIRE_MESSAGE(run.code == 0, run.text());
  return {desk.read("m/last/model.safetensors"),
          std::chrono::duration_cast<std::chrono::microseconds>(time).count()};
}

TEST_CASE("C-11: killed at random moments, a run loses nothing that was reported as saved") {
  const std::int64_t kills = number_option("--kills", long_form() ? 200 : 12);
  const Unbroken unbroken = unbroken_run();
  std::int64_t made = 0, within_a_save = 0, before_the_first = 0, compared = 0;
  while (made < kills) {
    const NamesDesk desk;
    std::int64_t save_every = random_between(1, 5), reported = -1;
    std::string line = names_run(kSteps, save_every);
    for (int part = 0; part < 6 && made < kills; ++part) {
      RunningCommand command(words_of(line), desk.path());
      // Not evenly: start-up and the first save deserve more than their share.
      const std::int64_t longest = unbroken.microseconds / (random_between(0, 2) == 0 ? 10 : 1);
      std::this_thread::sleep_for(std::chrono::microseconds(random_between(0, longest)));
      command.send(SIGKILL);
      const Outcome killed = command.wait();
      ++made;
      CAPTURE(killed.text());
      CHECK((killed.code == 256 + SIGKILL || killed.code == 0));
      reported = std::max(reported, reported_step(killed.out));
      if (desk.has("m"))
        for (const auto& entry : std::filesystem::directory_iterator(desk.path() / "m"))
          if (entry.path().filename().string().starts_with(".minigpt-tmp")) ++within_a_save;
      check_usable(desk);
      const std::int64_t saved = saved_step(desk);
      CHECK(saved >= reported);
      save_every = random_between(1, 5);
      if (saved < 0) {
        ++before_the_first;
        const Outcome resumed = desk.run(names_resume(kSteps, save_every));
        CHECK_MESSAGE(refused_in_one_line(resumed), resumed.text());
        line = names_run(kSteps, save_every);
      } else {
        line = names_resume(kSteps, save_every);
      }
    }
    const Outcome last = desk.run(line);
    CAPTURE(last.text());
    REQUIRE(last.code == 0);
    CHECK(saved_step(desk) == kSteps);
    check_complete(desk, kSteps);
    CHECK(desk.read("m/last/model.safetensors") == unbroken.weights);
    ++compared;
  }
  MESSAGE(made << " kills, " << before_the_first << " before the first save, " << within_a_save
               << " while a file or folder was half-written; " << compared
               << " runs ended with the weights of an unbroken one");
}

}  // namespace
}  // namespace minigpt::test
