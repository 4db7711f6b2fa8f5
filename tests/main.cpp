// The main function of every test program.
//
// With MINIGPT_ZOO=N in the environment, fault N of the zoo is planted (tools/zoo/mutant.h) while the tests run: then one of
// them has to fail. tools/checks/mutants.sh does that for every fault.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <optional>

#include "tools/zoo/mutant.h"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  std::optional<minigpt::zoo::Planted> fault;
  const char* number = std::getenv("MINIGPT_ZOO");
  if (number && *number) {
    try {
      fault.emplace(minigpt::zoo::mutant(std::atoll(number)));
    } catch (const minigpt::Error& e) {
      fmt::print(stderr, "MINIGPT_ZOO={}: {}\n", number, e.what());
      return 2;
    }
    fmt::print("fault {} is planted: these tests are meant to fail\n", number);
    std::fflush(stdout);
  }
  return context.run();
}
