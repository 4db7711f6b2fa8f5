#include "autograd/hvp.h"

#include "autograd/engine.h"
#include "autograd/ops/add.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"

namespace minigpt {

std::vector<Tensor> hessian_vector_product(const Variable& scalar, const std::vector<Variable>& inputs,
                                           const std::vector<Tensor>& vectors) {
  constexpr const char* kOp = "hessian_vector_product";
  check(inputs.size() == vectors.size(), kOp, "{} inputs, but {} vectors", inputs.size(), vectors.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check(inputs[i].defined() && vectors[i].defined() && inputs[i].shape() == vectors[i].shape() &&
              inputs[i].dtype() == vectors[i].dtype(),
          kOp, "vector {} does not have the shape and type of its input", i);

  GradOptions first;
  first.create_graph = true;
  const std::vector<Variable> g = grad({scalar}, inputs, first);
  // A gradient that depends on nothing (of a linear function) has no history, and its row of the Hessian is zero.
  Variable product;
  for (std::size_t i = 0; i < g.size(); ++i) {
    if (!g[i].requires_grad()) continue;
    const Variable term = sum(g[i] * Variable(vectors[i]));
    product = product.defined() ? product + term : term;
  }
  std::vector<Tensor> out;
  if (product.defined()) {
    GradOptions second;
    second.retain_graph = true;
    second.allow_unused = true;
    for (const Variable& h : grad({product}, inputs, second))
      out.push_back(h.defined() ? h.value() : Tensor());
  }
  out.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!out[i].defined()) out[i] = zeros_like(inputs[i].value());
  return out;
}

}  // namespace minigpt
