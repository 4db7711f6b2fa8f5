#include "tests/differential/builder.h"
#include "tests/differential/check.h"

namespace minigpt::differential {

Expression generate(std::uint64_t seed) {
  // One in 100 is large.
  const bool large = Draw(~seed).chance(0.01);
  Builder builder(seed, large);
  const auto steps = static_cast<std::size_t>(builder.draw.between(1, large ? 3 : 10));
  // Matrix products change their way with size more often than other operations.
  static const std::vector<const Op*> products = [] {
    std::vector<const Op*> found;
    for (const char* name :
         {"matmul", "linear", "linear_activation", "mlp", "layer_norm_linear", "causal_attention"})
      found.push_back(&op_named(name));
    return found;
  }();
  for (int attempt = 0; attempt < 60 && builder.steps() < steps; ++attempt) {
    const Op& op =
        large && builder.draw.chance(0.4) ? *builder.draw.pick(products) : builder.draw.pick(all_ops());
    op.propose(builder, op);
  }
  return builder.finish();
}

}  // namespace minigpt::differential
