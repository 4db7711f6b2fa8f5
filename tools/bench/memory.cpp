#include "tools/bench/memory.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "models/gpt.h"
#include "nn/dropout_stream.h"
#include "tensor/parallel.h"
#include "tools/bench/memory_use.h"

namespace minigpt::tools {
namespace {

struct Bytes {
  std::int64_t parameters, activations, peak, gradients, optimizer;
  std::int64_t allocations;  // blocks fetched from the system in the last step
};

std::int64_t live() { return memory_stats().live_bytes; }

Tensor random_tokens(const TrainConfig& c, Generator& rng) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(c.batch_size * c.model.block_size));
  for (std::int32_t& id : ids) id = static_cast<std::int32_t>(rng.randint(0, c.model.vocab_size));
  return Tensor::from<std::int32_t>(ids, {c.batch_size, c.model.block_size});
}

Bytes measure(const TrainConfig& c) {
  Generator rng(1);
  Bytes bytes{};
  const std::int64_t empty = live();
  Gpt model(c.model, rng);
  bytes.parameters = live() - empty;
  const std::vector<NamedParameter> parameters = model.parameters();
  Adam optimizer(decay_groups(parameters, c.learning_rate, c.weight_decay), c.adam_options());
  bytes.optimizer = live() - empty - bytes.parameters;
  const Tensor tokens = random_tokens(c, rng);
  DropoutStream dropout = DropoutStream::counter(1);
  Mode mode;
  mode.training = true;
  mode.dropout = &dropout;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::int64_t allocations = memory_stats().system_allocations;
    optimizer.zero_grad();
    dropout.begin(step);
    reset_peak_memory();
    const std::int64_t before = live();
    {
      const Variable loss = model.loss(tokens, tokens, mode);
      bytes.activations = live() - before;
      loss.backward();
    }
    bytes.peak = memory_stats().peak_bytes - empty;
    bytes.gradients = live() - before;
    const std::int64_t state = live();
    optimizer.step(clip_factor(grad_norm(parameters), 1.0));
    bytes.optimizer += live() - state;  // where the optimiser waits for the first step with its memory
    bytes.allocations = memory_stats().system_allocations - allocations;
  }
  return bytes;
}

}  // namespace

void bench_memory(const MemoryBench& bench) {
  const Bytes b = measure(bench.config);
  if (bench.json) {
    nlohmann::ordered_json out;
    out["preset"] = bench.preset;
    out["dtype"] = "f32";
    out["threads"] = num_threads();
    out["parameters_bytes"] = b.parameters;
    out["gradients_bytes"] = b.gradients;
    out["optimizer_bytes"] = b.optimizer;
    out["activations_bytes"] = b.activations;
    out["peak_tensor_bytes"] = b.peak;
    out["system_allocations_per_step"] = b.allocations;
    out["rss_bytes"] = resident_bytes();
    out["peak_rss_bytes"] = peak_resident_bytes();
    fmt::print("{}\n", out.dump());
    return;
  }
  const auto row = [](const char* what, std::int64_t bytes) {
    fmt::print("  {:<52} {:>10.2f} MB\n", what, 1e-6 * static_cast<double>(bytes));
  };
  const TrainConfig& c = bench.config;
  fmt::print("{}, f32, batches of {} x {} tokens, {} threads\n", bench.preset, c.batch_size,
             c.model.block_size, num_threads());
  row("parameters", b.parameters);
  row("gradients", b.gradients);
  row("optimiser", b.optimizer);
  row("activations, kept for the backward pass", b.activations);
  row("all tensors at the peak, in the backward pass", b.peak);
  row("the process at its peak", peak_resident_bytes());
  fmt::print("  {:<52} {:>10}\n", "blocks fetched from the system in the last step", b.allocations);
}

}  // namespace minigpt::tools
