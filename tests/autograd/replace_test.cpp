#include "autograd/replace.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "autograd/checkpoint.h"
#include "autograd/engine.h"
#include "autograd/ops.h"

namespace minigpt::test {
namespace {

Variable leaf(double value) { return Variable(Tensor::scalar(value), true); }

double slope(const Variable& y, const Variable& x, bool create_graph = false) {
  GradOptions options;
  options.create_graph = create_graph;
  return grad({y}, {x}, options)[0].item();
}

// exp whose backward is that of another function: dx = dy * x.
struct WrongExp : Replacement {
  void backward(Node& node, const Variable& dy, Grads& gradients) override {
    if (std::string_view(node.op) == "exp") gradients[0] = dy * log(Saved(node).output());
  }
};

// exp that gives x^2, with the history of a square.
struct SquareForExp : Replacement {
  Variable forward(const char* op, const Variable& y, std::span<const Variable> inputs) override {
    return std::string_view(op) == "exp" ? inputs[0] * inputs[0] : y;
  }
};

TEST_CASE("replacement: another backward, while it is alive") {
  const Variable x = leaf(2);
  {
    const WrongExp wrong;
    CHECK(slope(exp(x), x) == doctest::Approx(2));
    CHECK(slope(sin(x), x) == doctest::Approx(std::cos(2)));
  }
  CHECK(slope(exp(x), x) == doctest::Approx(std::exp(2)));
}

TEST_CASE("replacement: it counts when the backward pass runs, not when the operation did") {
  const Variable x = leaf(2), y = exp(x);
  const WrongExp wrong;
  CHECK(slope(y, x) == doctest::Approx(2));
}

TEST_CASE("replacement: what it returns is differentiated again under create_graph") {
  const Variable x = leaf(2);
  const WrongExp wrong;
  GradOptions options;
  options.create_graph = true;
  const Variable dx = grad({exp(x)}, {x}, options)[0];
  // dx = log(e^x): its derivative passes exp again, where the fault gives dy * x = x / e^x.
  CHECK(slope(dx, x) == doctest::Approx(2 / std::exp(2)));
}

TEST_CASE("replacement: another value, with its own history, recorded or not") {
  const Variable x = leaf(3);
  const SquareForExp square;
  CHECK(exp(x).item() == doctest::Approx(9));
  CHECK(slope(exp(x), x) == doctest::Approx(6));
  const NoGrad no_grad;
  CHECK(exp(x).item() == doctest::Approx(9));
}

TEST_CASE("replacement: a pass that is computed again for its gradients sees it too") {
  const Variable x = leaf(3);
  const SquareForExp square;
  const Variable y = checkpoint(x, {}, [](const Variable& in, bool) { return exp(in) * 2.0; });
  CHECK(y.item() == doctest::Approx(18));
  CHECK(slope(y, x) == doctest::Approx(12));
}

TEST_CASE("replacement: the youngest is asked alone; its own operations are nobody's business") {
  struct Counter : Replacement, Watcher {
    int asked = 0, shown = 0;
    Variable forward(const char*, const Variable& y, std::span<const Variable> inputs) override {
      ++asked;
      return inputs.empty() ? y : alias(y);
    }
    void on_forward(const char*, const Variable&, const Variable*, std::size_t) override { ++shown; }
  };
  const Variable x = leaf(1);
  const SquareForExp older;
  {
    Counter younger;
    CHECK(exp(x).item() == doctest::Approx(std::exp(1)));
    CHECK(younger.asked == 1);
    CHECK(younger.shown == 1);
  }
  CHECK(exp(x).item() == doctest::Approx(1));
}

TEST_CASE("replacement: watchers are shown the gradients that take the place of others") {
  struct Looker : Watcher {
    double seen = 0;
    void on_gradient(const Node&, int, const Variable& gradient) override { seen = gradient.item(); }
  };
  const Variable x = leaf(2);
  const WrongExp wrong;
  const Looker looker;
  exp(x).backward();
  CHECK(looker.seen == doctest::Approx(2));
}

TEST_CASE("replacement: a value of another shape or type is refused, and everything is as before") {
  struct Scalar : Replacement {
    Variable forward(const char*, const Variable&, std::span<const Variable>) override { return leaf(0); }
  };
  const Variable x(ones({2}, DType::f64), true);
  {
    const Scalar scalar;
    CHECK_THROWS_WITH_AS(exp(x), "[exp] what takes the place of float64 (2) must have its shape and type",
                         Error);
    CHECK_THROWS_AS(exp(x), Error);
  }
  CHECK(exp(x).value().at({0}) == doctest::Approx(std::exp(1)));
}

TEST_CASE("replacement: a graph is used up as ever") {
  const Variable x = leaf(2), y = exp(x);
  const WrongExp wrong;
  y.backward();
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("already used"), Error);
}

}  // namespace
}  // namespace minigpt::test
