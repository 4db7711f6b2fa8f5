#pragma once
// What the crash tests share: a small run, options of the test program, and what must hold after a crash.
//
//   build/test/tests/test_crash                     the short form
//   build/test/tests/test_crash --kills 200         as many random kills; MINIGPT_LONG_TESTS=1 lengthens every test
//   build/test/tests/test_crash --crash-seed 7      other random moments (the seed of a run is printed)

#include <cstdint>
#include <random>
#include <set>
#include <string>

#include "tests/tools/run_command.h"

namespace minigpt::test {

// MINIGPT_LONG_TESTS=1.
bool long_form();
// The number behind `name` among the words of the command line of this program, else `otherwise`.
std::int64_t number_option(const std::string& name, std::int64_t otherwise);
// From --crash-seed, else from the clock; printed once.
std::mt19937_64& crash_random();
std::int64_t random_between(std::int64_t low, std::int64_t high);

// 60 names.
std::string names_text();

// A desk with names.txt.
struct NamesDesk : Desk {
  NamesDesk() { write("names.txt", names_text()); }
};

// "train ... --out m": 4,000 parameters and everything that a run can write.
std::string names_run(std::int64_t steps, std::int64_t save_every);
std::string names_resume(std::int64_t steps, std::int64_t save_every);

// The step of the folder's saved state, -1 if there is none.
std::int64_t saved_step(const Desk& desk, const std::string& folder = "m");
// The last step that a run with --json has reported as saved, -1 if none.
std::int64_t reported_step(const std::string& json_output);

// One line on standard error and exit code 1 or 2.
bool refused_in_one_line(const Outcome& run);

// `info` and `sample` work, or refuse in one line if there is nothing yet.
void check_usable(const Desk& desk, const std::string& folder = "m");

// The logs hold the steps 0 .. steps - 1 once each, in order, and nothing half-written is left in the folder.
void check_complete(const Desk& desk, std::int64_t steps, const std::string& folder = "m");

}  // namespace minigpt::test
