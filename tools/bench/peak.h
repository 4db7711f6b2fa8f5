#pragma once
// What the arithmetic units can do, measured.

#include <string_view>

namespace minigpt::tools {

// Multiply-adds in registers on `threads` threads at once: floating-point operations per second, all threads together.
// Takes about `seconds`; `fastest` as in seconds_per_call. 0 if minigpt's kernels have none for this type of number
// ("f32", "bf16").
double measure_peak(std::string_view dtype, int threads, double seconds, bool fastest = false);

}  // namespace minigpt::tools
