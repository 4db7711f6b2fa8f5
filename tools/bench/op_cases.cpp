#include "tools/bench/op_cases.h"

#include <memory>

#include "autograd/ops.h"
#include "nn/dropout_stream.h"
#include "nn/optim/adam.h"
#include "tensor/generator.h"

namespace minigpt::tools {
namespace {

// Makes operands, always the same ones.
class Operand {
 public:
  Variable operator()(const Shape& shape) {
    Tensor t = Tensor::empty(shape);
    rng_.uniform(std::span<float>(t.mutable_data<float>(), static_cast<std::size_t>(t.numel())), 0.1, 1);
    return Variable(std::move(t), true);
  }
  Tensor ids(const Shape& shape, std::int64_t below) {
    Tensor t = Tensor::empty(shape, DType::i32);
    rng_.randint(std::span<std::int32_t>(t.mutable_data<std::int32_t>(), static_cast<std::size_t>(t.numel())),
                 0, below);
    return t;
  }

 private:
  Generator rng_{1};
};

using Cases = std::vector<OpCase>;

void add_elementwise(Cases& cases, const OpsBench& o, Operand& operand) {
  const Shape shape = {o.B, o.T, o.C};
  const double bytes = 4.0 * static_cast<double>(o.B * o.T * o.C);
  const Variable x = operand(shape), y = operand(shape), row = operand({o.C});
  cases.push_back({"add", {x, y}, [=] { return x + y; }, 3 * bytes, 4 * bytes});
  cases.push_back({"add_row", {x, row}, [=] { return x + row; }, 2 * bytes, 3 * bytes});
  cases.push_back({"mul", {x, y}, [=] { return x * y; }, 3 * bytes, 5 * bytes});
  const auto unary = [&](const char* name, auto f) {
    cases.push_back({name, {x}, [=] { return f(x); }, 2 * bytes, 3 * bytes});
  };
  unary("exp", [](const Variable& v) { return exp(v); });
  unary("tanh", [](const Variable& v) { return tanh(v); });
  unary("gelu", [](const Variable& v) { return gelu(v); });
  unary("gelu_tanh", [](const Variable& v) { return gelu(v, Gelu::tanh); });
  unary("silu", [](const Variable& v) { return silu(v); });
  unary("relu", [](const Variable& v) { return relu(v); });
  unary("softmax", [](const Variable& v) { return softmax(v); });
  cases.push_back({"sum", {x}, [=] { return sum(x); }, bytes, bytes});
  const auto stream = std::make_shared<DropoutStream>(DropoutStream::counter(1));
  stream->begin(0);
  cases.push_back({"dropout_mask", {}, [=] { return stream->next(shape, 0.2), Variable(); }, bytes / 32, 0});
  const DropoutMask mask = stream->next(shape, 0.2);
  cases.push_back({"dropout", {x}, [=] { return dropout(x, mask); }, 2 * bytes, 2 * bytes});
}

void add_layers(Cases& cases, const OpsBench& o, Operand& operand) {
  const auto rows = static_cast<double>(o.B * o.T), C = static_cast<double>(o.C),
             V = static_cast<double>(o.vocabulary);
  const double bytes = 4 * rows * C;
  const Variable x = operand({o.B, o.T, o.C}), gain = operand({o.C});
  cases.push_back(
      {"layer_norm", {x, gain}, [=] { return layer_norm(x, gain, Variable()); }, 2 * bytes, 3 * bytes});
  cases.push_back({"rms_norm", {x, gain}, [=] { return rms_norm(x, gain); }, 2 * bytes, 3 * bytes});
  const Variable table = operand({o.vocabulary, o.C});
  const Tensor ids = operand.ids({o.B, o.T}, o.vocabulary);
  cases.push_back({"embedding", {table}, [=] { return embedding(table, ids); }, 2 * bytes, bytes});
  const Variable logits = operand({o.B * o.T, o.vocabulary});
  const Tensor targets = operand.ids({o.B * o.T}, o.vocabulary);
  cases.push_back({"cross_entropy",
                   {logits},
                   [=] { return cross_entropy(logits, targets); },
                   4 * rows * V,
                   8 * rows * V});
  const Variable up = operand({4 * o.C, o.C}), wide = operand({o.B, o.T, 4 * o.C}),
                 down = operand({o.C, 4 * o.C});
  const double product = 2 * rows * 4 * C * C;
  cases.push_back({"linear_up", {x, up}, [=] { return linear(x, up); }, product, 2 * product, true});
  cases.push_back(
      {"linear_down", {wide, down}, [=] { return linear(wide, down); }, product, 2 * product, true});
  const Variable qkv = operand({o.B, o.T, 3 * o.C});
  const double scores = 4 * rows * static_cast<double>(o.T) * C;  // q k^T and p v
  const int heads = static_cast<int>(o.heads);
  cases.push_back(
      {"causal_attention", {qkv}, [=] { return causal_attention(qkv, heads); }, scores, 2 * scores, true});
}

void add_optimizer(Cases& cases, const OpsBench& o, Operand& operand) {
  Variable w = operand({4 * o.C, o.C});
  w.set_grad(Variable(operand({4 * o.C, o.C}).value()));
  const auto optimizer =
      std::make_shared<Adam>(std::vector<ParameterGroup>{{{{"w", w, {}}}, 1e-6, 0.1}}, AdamOptions());
  const double bytes = 4 * static_cast<double>(w.numel());
  cases.push_back({"adamw", {}, [=] { return optimizer->step(), Variable(); }, 7 * bytes, 0});
  cases.push_back({"grad_norm", {}, [=] { return grad_norm({{"w", w, {}}}), Variable(); }, bytes, 0});
}

}  // namespace

std::vector<OpCase> large_ops(const OpsBench& bench) {
  Operand operand;
  Cases cases;
  add_elementwise(cases, bench, operand);
  add_layers(cases, bench, operand);
  add_optimizer(cases, bench, operand);
  return cases;
}

std::vector<SmallOp> small_ops() {
  Operand operand;
  const Variable other = operand({16}), matrix = operand({16, 16});
  return {
      {"add", [=](const Variable& x) { return x + other; }},
      {"mul", [=](const Variable& x) { return x * other; }},
      {"mul_number", [](const Variable& x) { return x * 0.5; }},
      {"relu", [](const Variable& x) { return relu(x); }},
      {"tanh", [](const Variable& x) { return tanh(x); }},
      {"softmax", [](const Variable& x) { return softmax(x); }},
      {"rms_norm", [](const Variable& x) { return rms_norm(x, Variable()); }},
      {"linear_16x16", [=](const Variable& x) { return linear(x, matrix); }},
  };
}

}  // namespace minigpt::tools
