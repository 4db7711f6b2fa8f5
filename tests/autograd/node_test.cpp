// Lifetime of the graph: depth, width, teardown, memory, and values changed behind its back.

#include "autograd/node.h"

#include <pthread.h>

#include <functional>
#include <stdexcept>

#include "autograd/ops/add.h"
#include "autograd/ops/concat.h"
#include "autograd/ops/masked_fill.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sigmoid.h"
#include "autograd/ops/sum.h"
#include "tensor/elementwise.h"
#include "tensor/recycling.h"
#include "tests/autograd/gradient_testing.h"

namespace minigpt {
namespace {

constexpr int kDeep = 1'000'000;

// Runs fn in a thread whose stack is far too small for anything that recurses along the graph.
void on_small_stack(const std::function<void()>& fn) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 256 * 1024) == 0);
  pthread_t thread;
  const auto run = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&fn)) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

Variable deep_chain(const Variable& x, int steps) {
  Variable y = x;
  for (int i = 0; i < steps; ++i) y = y + y * 1e-6;
  return y;
}

TEST_CASE("backward through a million steps on a 256 kB stack (A-04)") {
  double value = 0, slope = 0;
  on_small_stack([&] {
    const Variable x(Tensor::scalar(1.0), true);
    const Variable y = deep_chain(x, kDeep);
    value = y.item();
    y.backward();
    slope = x.grad().item();
  });
  CHECK(value == doctest::Approx(std::exp(1)).epsilon(1e-5));  // (1 + 1e-6)^1e6
  CHECK(slope == doctest::Approx(value).epsilon(1e-9));
}

TEST_CASE("a deep graph can be dropped unused, overwritten, or unwound by an exception (A-05)") {
  bool caught = false;
  on_small_stack([&] {
    const Variable x(Tensor::scalar(1.0), true);
    { const Variable y = deep_chain(x, kDeep / 2); }
    Variable y = deep_chain(x, kDeep / 2);
    y = Variable(Tensor::scalar(0.0));
    try {
      const Variable z = deep_chain(x, kDeep / 2);
      throw std::runtime_error("unwind");
    } catch (const std::runtime_error&) {
      caught = true;
    }
  });
  CHECK(caught);
}

TEST_CASE("a deep recorded backward pass goes as easily") {
  double slope = 0;
  on_small_stack([&] {
    Variable x(Tensor::scalar(1.0), true);
    BackwardOptions options;
    options.create_graph = true;
    deep_chain(x, kDeep / 10).backward(options);
    slope = x.grad().item();
    x.zero_grad();
  });
  CHECK(slope == doctest::Approx(std::exp(0.1)).epsilon(1e-5));
}

TEST_CASE("a node with 100,000 inputs (A-04)") {
  std::vector<Variable> parts;
  for (int i = 0; i < 100'000; ++i) parts.emplace_back(Tensor::from<double>({1.0 * i}, {1}), true);
  const Variable y = concat(parts);
  sum(y * y).backward();
  for (int i : {0, 1, 50'000, 99'999}) CHECK(parts[static_cast<std::size_t>(i)].grad().item() == 2.0 * i);
  const std::vector<Variable> g = grad({sum(concat(parts) * 3.0)}, parts);
  CHECK(g[77'777].item() == 3);
}

// --- Memory ------------------------------------------------------------------------------------------------

TEST_CASE("memory is flat over 2000 steps, even if the losses are summed as variables (A-06)") {
  Variable w = leaf({64, 64});
  Variable total(Tensor::scalar(0.0));
  MemoryStats settled;
  for (int step = 0; step < 2000; ++step) {
    w.zero_grad();
    const Variable loss = sum(sigmoid(w * 2.0) * w);
    loss.backward();
    total = total + loss;  // better: a double and loss.item()
    if (step == 20) settled = memory_stats();
  }
  CHECK(total.requires_grad());
  CHECK(memory_stats().live_bytes <= settled.live_bytes);
  if (kRecycle) CHECK(memory_stats().system_allocations == settled.system_allocations);
}

TEST_CASE("backward frees what was saved, and retain_graph keeps it (P-06)") {
  const Variable x = leaf({1000});
  const std::int64_t before = memory_stats().live_bytes;
  const Variable loss = sum(sigmoid(sigmoid(x)));
  CHECK(memory_stats().live_bytes >= before + 2 * 8000);
  BackwardOptions retain;
  retain.retain_graph = true;
  loss.backward(retain);
  CHECK(memory_stats().live_bytes >= before + 3 * 8000);  // and the gradient
  loss.backward();
  CHECK(memory_stats().live_bytes < before + 2 * 8000);
}

TEST_CASE("an op keeps nothing alive that its backward does not read") {
  const Variable x = leaf({1000});
  const std::int64_t before = memory_stats().live_bytes;
  Variable y = x + 1.0;
  for (int i = 0; i < 10; ++i) y = y + 1.0;
  CHECK(memory_stats().live_bytes < before + 2 * 8000);  // only the last sum
}

// --- Values changed in place -------------------------------------------------------------------------------

TEST_CASE("a saved value that is changed in place before backward is an error that names the op (A-07)") {
  using Change = void (*)(Variable&);
  const std::pair<const char*, Change> changes[] = {
      {"directly", [](Variable& y) { y.mutable_value().fill_(0); }},
      {"through a copy of the tensor",
       [](Variable& y) {
         Tensor t = y.value();
         t.copy_(zeros({2, 3}, DType::f64));
       }},
      {"through a view",
       [](Variable& y) {
         Tensor row = select(y.value(), 0, 1);
         row.fill_(0);
       }},
      {"through a pointer", [](Variable& y) { y.mutable_value().mutable_data<double>()[3] = 0; }},
      {"by an update as an optimizer makes it",
       [](Variable& y) { add_(y.mutable_value(), y.value(), -0.1); }},
      {"by scaling", [](Variable& y) { mul_(y.mutable_value(), 2); }},
  };
  for (const auto& change : changes) {
    CAPTURE(change.first);
    const Variable x = leaf({2, 3});
    Variable y = sigmoid(x);
    const Variable loss = sum(y);
    change.second(y);
    CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("[sigmoid] the output was changed in place"),
                         Error);
    CHECK_FALSE(x.has_grad());
  }
}

TEST_CASE("inputs and masks are watched as well") {
  Variable w = leaf({3});
  const Variable loss = sum(w * w);
  mul_(w.mutable_value(), 0.5);
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("[mul] input 1 was changed in place"), Error);

  Tensor mask = Tensor::from<bool>({true, false, true}, {3});
  const Variable filled = sum(masked_fill(w, mask, 0));
  mask.fill_(1);
  CHECK_THROWS_WITH_AS(filled.backward(), doctest::Contains("[masked_fill]"), Error);
}

TEST_CASE("changing what no backward reads is allowed") {
  Variable x = leaf({3});
  const Variable loss = sum(x + 1.0);
  mul_(x.mutable_value(), 0.5);
  loss.backward();
  CHECK(values(x.grad()) == std::vector<double>{1, 1, 1});
}

}  // namespace
}  // namespace minigpt
