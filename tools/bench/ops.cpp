#include "tools/bench/ops.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tensor/tensor.h"
#include "tools/bench/clock.h"
#include "tools/bench/op_cases.h"

namespace minigpt::tools {
namespace {

struct Timing {
  double forward, both;  // seconds; both = 0 without a backward pass
};

Timing measure(OpCase& c, double seconds) {
  Timing t{};
  {
    const NoGrad no_grad;
    t.forward = seconds_per_call(seconds, [&] { c.forward(); });
  }
  if (c.inputs.empty()) return t;
  const Variable dy = Variable(ones_like(c.forward().value()));
  t.both = seconds_per_call(seconds, [&] {
    c.forward().backward({dy});
    for (Variable& x : c.inputs) x.zero_grad();
  });
  return t;
}

// A chain of operations on 16 numbers: recorded, run backward, released; seconds per operation.
double per_small_op(const SmallOp& op, double seconds) {
  constexpr int kChain = 100;
  Variable x(full({16}, 0.5), true);
  const Variable dy(full({16}, 1.0));
  const double chain = seconds_per_call(seconds, [&] {
    Variable y = x;
    for (int i = 0; i < kChain; ++i) y = op.apply(y);
    y.backward({dy});
    x.zero_grad();
  });
  return chain / kChain;
}

void print(const OpsBench& bench, const OpCase& c, const Timing& t) {
  const char* unit = c.flops ? "GFLOP/s" : "GB/s";
  const double forward = 1e-9 * c.forward_work / t.forward;
  const double both = t.both > 0 ? 1e-9 * (c.forward_work + c.backward_work) / t.both : 0;
  if (bench.json) {
    nlohmann::ordered_json line = {
        {"op", c.name}, {"threads", num_threads()}, {"forward_us", 1e6 * t.forward}};
    line["forward_rate"] = forward;
    if (t.both > 0) line["forward_backward_us"] = 1e6 * t.both;
    if (t.both > 0) line["forward_backward_rate"] = both;
    line["unit"] = unit;
    fmt::print("{}\n", line.dump());
  } else {
    const std::string more = t.both > 0 ? fmt::format("{:>12.1f} {:>9.1f}", 1e6 * t.both, both) : "";
    fmt::print("{:<18} {:>12.1f} {:>9.1f} {:<22} {}\n", c.name, 1e6 * t.forward, forward, more, unit);
  }
  std::fflush(stdout);
}

bool wanted(const OpsBench& bench, const std::string& name) { return name.find(bench.only) != name.npos; }

}  // namespace

void bench_ops(const OpsBench& bench) {
  if (!bench.json) {
    fmt::print("activations of {} x {} x {}, {} threads, {} kernels\n", bench.B, bench.T, bench.C,
               num_threads(), kernel_set().name);
    fmt::print("{:<18} {:>12} {:>9} {:>12} {:>9}\n", "operation", "forward us", "rate", "+backward us",
               "rate");
  }
  for (OpCase& c : large_ops(bench))
    if (wanted(bench, c.name)) print(bench, c, measure(c, bench.seconds));
  if (!bench.json)
    fmt::print("\nvectors of 16 numbers: ns per operation, recorded, run backward and released\n");
  for (const SmallOp& op : small_ops()) {
    if (!wanted(bench, op.name)) continue;
    const double ns = 1e9 * per_small_op(op, bench.seconds);
    if (bench.json)
      fmt::print("{}\n", nlohmann::ordered_json{{"small_op", op.name}, {"ns", ns}}.dump());
    else
      fmt::print("{:<18} {:>12.0f}\n", op.name, ns);
    std::fflush(stdout);
  }
}

}  // namespace minigpt::tools
