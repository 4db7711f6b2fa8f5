#include "tools/bench/peak.h"

#include <atomic>
#include <thread>

#include "tensor/dispatch.h"
#include "tools/bench/clock.h"

namespace minigpt::tools {
namespace {

double one_thread(const PeakKernels<float>& peak, double seconds, bool fastest, std::atomic<float>& sink) {
  constexpr std::int64_t kSteps = 1 << 14;
  const double call = seconds_per_call(
      seconds, [&] { sink = peak.multiply_add(kSteps, 0.5F, 0.25F); }, fastest);
  return static_cast<double>(kSteps * peak.operations) / call;
}

}  // namespace

double measure_peak(std::string_view dtype, int threads, double seconds, bool fastest) {
  const PeakKernels<float>& peak = dtype == "bf16" ? kernel_set().peak_bf16 : kernels<float>().peak;
  // Threads of its own: the pool may give one thread the work of two.
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::vector<std::thread> others;
  std::atomic<float> sink = 0;
  for (std::size_t i = 1; i < rates.size(); ++i)
    others.emplace_back([&, i] { rates[i] = one_thread(peak, seconds, fastest, sink); });
  rates[0] = one_thread(peak, seconds, fastest, sink);
  for (std::thread& t : others) t.join();
  double total = 0;
  for (const double rate : rates) total += rate;
  return total;
}

}  // namespace minigpt::tools
