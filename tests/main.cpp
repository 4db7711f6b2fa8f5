// The main function of the test programs.

#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "tests/planted_fault.h"

// A sanitizer would end the program where the system refuses memory; tests look at what the library does then. (The names are
// the sanitizers' own.)
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options() { return "allocator_may_return_null=1"; }
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

int main(int argc, char** argv) {
  doctest::Context context(argc, argv);
  const auto fault = minigpt::test::planted_fault();
  return context.run();
}
