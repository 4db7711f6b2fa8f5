// Every file of a checkpoint cut off, with bits that tipped over, with blocks of zeros, or out of another checkpoint.

#include "tests/crash/damage.h"

namespace minigpt::test {
namespace {

void report(const DamageBench& bench) {
  const DamageBench::Counts& c = bench.counts;
  MESSAGE(c.tried << " damaged files: " << c.refused << " refused by a resumed run, " << c.recovered
                  << " recovered and said, " << c.harmless << " the same to every reader");
}

TEST_CASE("C-01: every file cut off at every 97th byte, empty, and one byte short") {
  DamageBench bench;
  const std::size_t stride = 97 * static_cast<std::size_t>(number_option("--stride", long_form() ? 1 : 60));
  for (const std::string& file : bench.files()) {
    const std::string whole = bench.content(file);
    std::vector<std::size_t> sizes = {0, whole.size() - 1};
    for (std::size_t size = 97; size + 1 < whole.size(); size += stride) sizes.push_back(size);
    for (const std::size_t size : sizes) {
      CAPTURE(size);
      bench.try_content(file, whole.substr(0, size));
    }
  }
  report(bench);
}

TEST_CASE("C-11: any file missing") {
  DamageBench bench;
  for (const std::string& file : bench.files()) bench.try_without(file);
  report(bench);
}

TEST_CASE(
    "C-11: lines behind the saved state in a log, as a run that was killed later leaves them, are cut off") {
  const NamesDesk desk;
  REQUIRE(desk.run(names_run(6, 2)).code == 0);
  for (const char* log : {"m/metrics.jsonl", "m/metrics.csv", "m/watch.jsonl"}) {
    const std::string whole = desk.read(log);
    // A line of a later step, and one that looks like an earlier one.
    const std::string json = R"({"step":6,"loss":1.0})"
                             "\n"
                             R"({"step":2,"loss":9.0})"
                             "\n"
                             R"({"step":)";
    desk.write(log, whole + (contains(log, ".csv") ? "6,1,1,1,1,,\n2,9,9,9,9,,\n3," : json));
  }
  const Outcome run = desk.run(names_resume(9, 2));
  CHECK_MESSAGE(run.code == 0, run.text());
  CHECK_FALSE(contains(run.err, "note"));
  check_complete(desk, 9);
}

TEST_CASE("C-04: one byte of any file changed") {
  DamageBench bench;
  const std::int64_t per_file = number_option("--flips", long_form() ? 400 : 8);
  for (const std::string& file : bench.files()) {
    const std::string whole = bench.content(file);
    for (std::int64_t i = 0; i < per_file; ++i) {
      const auto at =
          static_cast<std::size_t>(random_between(0, static_cast<std::int64_t>(whole.size()) - 1));
      // Mostly a single bit, as memory and disks lose them.
      const std::int64_t change =
          i % 4 == 3 ? random_between(1, 255) : std::int64_t{1} << random_between(0, 7);
      std::string damaged = whole;
      damaged[at] =
          static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ static_cast<unsigned char>(change));
      CAPTURE(at);
      CAPTURE(change);
      bench.try_content(file, damaged);
    }
  }
  report(bench);
}

TEST_CASE("C-11: zeros in place of a block or of all, as file systems leave after a power cut") {
  DamageBench bench;
  for (const std::string& file : bench.files()) {
    const std::string whole = bench.content(file);
    bench.try_content(file, std::string(whole.size(), '\0'));
    // What lies behind the saved state in a log is cut off anyway.
    if (file.ends_with(".json") || file.ends_with(".safetensors"))
      bench.try_content(file, whole + std::string(512, '\0'));
    const std::size_t blocks = (whole.size() + 511) / 512,
                      step = long_form() ? 1 : std::max<std::size_t>(1, blocks / 3);
    for (std::size_t block = 0; block < blocks; block += step) {
      std::string damaged = whole;
      for (std::size_t i = block * 512; i < std::min(whole.size(), (block + 1) * 512); ++i) damaged[i] = '\0';
      CAPTURE(block);
      bench.try_content(file, damaged);
    }
  }
  report(bench);
}

}  // namespace
}  // namespace minigpt::test
