#include "nn/hooks.h"

#include <doctest/doctest.h>

#include <map>

#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"

namespace minigpt::test {
namespace {

TEST_CASE("glob: * is any run of characters, ? is one, the rest stands for itself") {
  CHECK(glob_match("transformer.h.*.attn.weights", "transformer.h.11.attn.weights"));
  CHECK_FALSE(glob_match("transformer.h.*.attn.weights", "transformer.h.1.attn"));
  CHECK_FALSE(glob_match("transformer.h.?.attn", "transformer.h.11.attn"));
  CHECK(glob_match("*", ""));
  CHECK(glob_match("*attn*", "h.0.attn.q"));
  CHECK(glob_match("a*b*c", "aXbbXc"));  // a star gives back what it took too much of
  CHECK_FALSE(glob_match("a*b", "abc"));
  CHECK_FALSE(glob_match("", "a"));
  CHECK(glob_match("", ""));
}

// y = (x * 2) * 3, each product a module.
struct Times : Module {
  double factor = 1;
  Variable forward(const Variable& x, const Mode& mode) const { return observed(x * factor, mode); }
};
struct Chain {
  Times first, second;
  Chain() {
    first.path = "net.first";
    first.factor = 2;
    second.path = "net.second";
    second.factor = 3;
  }
  Variable forward(const Variable& x, const Mode& mode) const {
    return second.forward(first.forward(x, mode), mode);
  }
};

TEST_CASE("hooks: outputs and gradients under the paths of their modules") {
  const Variable x(Tensor::scalar(5.0), true);
  std::map<std::string, double> outputs, gradients;
  Hooks hooks;
  hooks.on_forward("net.*", [&](const char* path, const Variable& y) { outputs[path] = y.item(); });
  hooks.on_backward("*first", [&](const char* path, const Variable& dy) {
    gradients[path] = dy.item();
    return Variable();
  });
  Chain().forward(x, hooks.watching({})).backward();
  CHECK(outputs == std::map<std::string, double>{{"net.first", 10}, {"net.second", 30}});
  CHECK(gradients == std::map<std::string, double>{{"net.first", 3}});
  CHECK(x.grad().item() == 6);
}

TEST_CASE(
    "hooks: a backward hook may put another gradient in place; the mode's own observer still sees all") {
  const Variable x(Tensor::scalar(5.0), true);
  int seen = 0;
  const std::function<void(const char*, const Variable&)> count = [&](const char*, const Variable&) {
    ++seen;
  };
  Mode mode;
  mode.observe = &count;
  Hooks hooks;
  hooks.on_backward("net.second", [](const char*, const Variable& dy) { return dy * 10; });
  Chain().forward(x, hooks.watching(mode)).backward();
  CHECK(x.grad().item() == 60);
  CHECK(seen == 2);
  {
    const NoGrad no_grad;  // nothing is recorded, so nothing comes back
    CHECK_NOTHROW(Chain().forward(x, hooks.watching(mode)));
  }
}

}  // namespace
}  // namespace minigpt::test
