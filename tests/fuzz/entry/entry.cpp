// The entry point of libFuzzer, compiled once for each target. Source: llvm.org/docs/LibFuzzer.html

#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  minigpt::test::MINIGPT_FUZZ_TARGET(std::as_bytes(std::span(data, size)));
  return 0;
}
