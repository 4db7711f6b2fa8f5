#pragma once
// With MINIGPT_ZOO=N in the environment, a test program runs with fault N of the zoo (tools/zoo/mutant.h): then a test has to
// fail. tools/checks/mutants.sh does that for every fault.

#include <fmt/core.h>

#include <cstdlib>
#include <memory>

#include "tools/zoo/mutant.h"

namespace minigpt::test {

// The fault, for as long as what is returned lives; null without MINIGPT_ZOO. Says so on standard output. A number that
// is none ends the program with exit code 2.
inline std::unique_ptr<zoo::Planted> planted_fault() {
  const char* number = std::getenv("MINIGPT_ZOO");
  if (!number || !*number) return nullptr;
  try {
    auto fault = std::make_unique<zoo::Planted>(zoo::mutant(std::atoll(number)));
    fmt::print("fault {} is planted: these tests are meant to fail\n", number);
    std::fflush(stdout);
    return fault;
  } catch (const Error& e) {
    fmt::print(stderr, "MINIGPT_ZOO={}: {}\n", number, e.what());
    std::exit(2);
  }
}

}  // namespace minigpt::test
