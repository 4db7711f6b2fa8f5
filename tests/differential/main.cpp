// Differential tests: random expressions over every operation, computed in many ways that must agree.
//
//   test_differential                             10,000 expressions, the same ones every time
//   test_differential --seed 1234                 one expression, written out
//   test_differential --minutes 60 --start 5      seeds 5, 6, ... for an hour; without --start, others every time
#include <chrono>
#include <cstdlib>
#include <random>
#include <set>

#include "tests/differential/check.h"
#include "tests/differential/coverage.h"
#include "tests/planted_fault.h"

namespace minigpt::differential {
namespace {

struct Options {
  std::optional<std::uint64_t> seed, start;
  std::uint64_t expressions = 10000;
  double minutes = 0;
};

[[noreturn]] void usage(const std::string& what) {
  fmt::print(stderr,
             "{}\nusage: test_differential [--seed S | [--start S] [--expressions N | --minutes M]]\n", what);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i], text;
    if (const std::size_t equals = name.find('='); equals != std::string::npos) {
      text = name.substr(equals + 1);
      name.resize(equals);
    } else {
      if (i + 1 == argc) usage(name + " needs a number");
      text = argv[++i];
    }
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    const bool whole = text.find_first_not_of("0123456789") == std::string::npos;
    if (text.empty() || *end != 0 || !(number >= 0)) usage("not a number: " + text);
    if (name != "--minutes" && !whole) usage("not a whole number: " + text);
    const std::uint64_t integer = std::strtoull(text.c_str(), nullptr, 10);
    if (name == "--seed")
      o.seed = integer;
    else if (name == "--start")
      o.start = integer;
    else if (name == "--expressions")
      o.expressions = integer;
    else if (name == "--minutes")
      o.minutes = number;
    else
      usage("unknown option: " + name);
  }
  return o;
}

// One expression; prints what is wrong with it.
bool passes(std::uint64_t seed, Statistics& statistics, bool verbose) {
  const Expression e = generate(seed);
  if (verbose) fmt::print("{}", e.str());
  const std::optional<std::string> failure = check_expression(e, statistics);
  if (!failure) return true;
  fmt::print("\nFAILED: {}\n{}", *failure, e.str());
  const Expression small = shrink(e);
  Statistics ignored;
  const std::optional<std::string> still = check_expression(small, ignored);
  fmt::print("The least part of it that fails: {}\n{}", still ? *still : "none, it does not fail again",
             small.str());
  fmt::print("Again: test_differential --seed {}\n", seed);
  std::fflush(stdout);
  return false;
}

int main_of(int argc, char** argv) {
  const Options o = parse(argc, argv);
  Statistics statistics;
  if (o.seed) return passes(*o.seed, statistics, true) ? 0 : 1;

  bool ok = true;
  for (const std::string& missing : operations_without_entry(MINIGPT_SOURCE_DIR)) {
    fmt::print("FAILED: {}\n", missing);
    ok = false;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(o.minutes * 60);
  const auto more = [&](std::uint64_t done) {
    return o.minutes > 0 ? std::chrono::steady_clock::now() < deadline : done < o.expressions;
  };
  std::uint64_t first = 1;
  if (o.start)
    first = *o.start;
  else if (o.minutes > 0)
    first = std::random_device()();
  if (o.minutes > 0) fmt::print("from seed {}\n", first);
  std::fflush(stdout);
  int failures = 0;
  for (std::uint64_t done = 0; more(done) && failures < 10; ++done)
    failures += !passes(first + done, statistics, false);

  fmt::print("{}", statistics.str());
  // Each operation must have had its turn often enough.
  for (const Op& op : all_ops()) {
    const auto found = statistics.steps.find(op.name);
    const std::int64_t count = found == statistics.steps.end() ? 0 : found->second;
    if (statistics.expressions < 2000 || count >= statistics.expressions / 100) continue;
    fmt::print("FAILED: {} appeared only {} times\n", op.name, count);
    ok = false;
  }
  fmt::print("{}\n", failures == 0 && ok ? "all agree" : fmt::format("{} expressions failed", failures));
  return failures == 0 && ok ? 0 : 1;
}

}  // namespace
}  // namespace minigpt::differential

int main(int argc, char** argv) {
  const auto fault = minigpt::test::planted_fault();
  return minigpt::differential::main_of(argc, argv);
}
