// weights that change between a forward pass and its backward pass, as a training loop changes them.

#include <doctest/doctest.h>

#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"
#include "nn/linear.h"
#include "nn/optim/adam.h"
#include "nn/optim/muon.h"
#include "nn/optim/sgd.h"
#include "nn/tensor_file.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

// A layer, and a loss that has not been sent back yet.
struct Pending {
  Linear layer;
  Variable loss;
  std::vector<NamedParameter> parameters;

  Pending() {
    Generator rng(1);
    layer = Linear(3, 2, true, rng);
    parameters = named_parameters(layer);
    const Variable x(Tensor::from<float>({1, -2, 3}, {1, 3}), true);
    const Variable y = layer.forward(x);
    loss = sum(y * y);
  }
  void give_gradients() {
    for (NamedParameter& p : parameters) p.variable.set_grad(Variable(ones_like(p.variable.value())));
  }
  void check_noticed() const {
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("[linear] input 1 was changed in place"), Error);
  }
};

TEST_CASE("A-07: an optimizer step between forward and backward is noticed, whatever the optimizer") {
  using Step = void (*)(Pending&);
  const std::pair<const char*, Step> steps[] = {
      {"sgd",
       [](Pending& p) {
         Sgd({{p.parameters, 0.1, 0}}).step();
       }},
      {"sgd with momentum",
       [](Pending& p) {
         SgdOptions options;
         options.momentum = 0.9;
         Sgd({{p.parameters, 0.1, 0}}, options).step();
       }},
      {"adam",
       [](Pending& p) {
         Adam({{p.parameters, 0.1, 0}}).step();
       }},
  };
  for (const auto& step : steps) {
    CAPTURE(step.first);
    Pending p;
    stamp_paths(p.layer);
    p.give_gradients();
    step.second(p);
    p.check_noticed();
  }
}

TEST_CASE("A-07: weights that are loaded between forward and backward are noticed") {
  const test::TemporaryFolder folder;
  Pending p;
  stamp_paths(p.layer);
  save_tensors(folder / "w.safetensors", parameter_tensors(p.parameters));
  load_parameters(p.parameters, load_tensors(folder / "w.safetensors"),
                  "w.safetensors");  // even the same numbers
  p.check_noticed();
}

TEST_CASE("A-07: clipping between forward and backward changes gradients only, and is allowed") {
  Pending p;
  p.give_gradients();
  clip_grad_norm(p.parameters, 0.1);
  CHECK_NOTHROW(p.loss.backward());
}

}  // namespace
}  // namespace minigpt
