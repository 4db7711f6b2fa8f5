// The main function of the test programs.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/planted_fault.h"

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const auto fault = minigpt::test::planted_fault();
  return context.run();
}
