#pragma once
// checkpoint: trades time for memory. A part of a model keeps only its input, and is computed a second time when
// its backward comes.

#include <vector>

#include "autograd/composition.h"
#include "tensor/matmul.h"

namespace minigpt {

// y = f(x, false), without keeping what f would save.   f: (const Variable& x, bool again) -> Variable
//   dx and the gradients of `parameters`: f(x, true) is recorded and differentiated.
// `parameters` are the leaves that f uses besides x; others get no gradient. f must give the same bits both times:
// where it draws at random, it brings its own copy of the stream; matmul_precision() is restored for it. What f refers to
// must live until the backward pass. Throws Error if x or a parameter was changed in place meanwhile: f would compute
// something else. (Chen, Xu, Zhang & Guestrin 2016, "Training Deep Nets with Sublinear Memory Cost", section 3.)
template <class F>
Variable checkpoint(const Variable& x, const std::vector<Variable>& parameters, F f) {
  if (!recording()) return f(x, false);
  Tensor y;
  {
    const NoGrad no_grad;
    y = f(x, false).value();
  }
  std::vector<Variable> inputs = {x};
  inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  std::vector<std::uint64_t> versions;
  for (const Variable& p : parameters) versions.push_back(p.value().version());
  return record(
      "checkpoint", std::move(y), inputs.data(), inputs.size(), save(input(0)),
      [f = std::move(f), parameters, versions, precision = matmul_precision()](const Saved& s,
                                                                               const Variable& dy) {
        const ScopedMatmulPrecision scope(precision);
        for (std::size_t i = 0; i < parameters.size(); ++i)
          check(parameters[i].value().version() == versions[i], "checkpoint",
                "input {} was changed in place after the forward pass used it (version {}, now {}): "
                "backward would be wrong",
                i + 1, versions[i], parameters[i].value().version());
        GradOptions options;
        options.gradients = {dy};
        options.create_graph = recording();
        options.allow_unused = true;
        const detail::Recording on(true);
        // A new place in the graph: the inner pass stops there.
        const Variable in =
            options.create_graph && s.needs(0) ? alias(s.input(0)) : Variable(s.input(0).value(), s.needs(0));
        std::vector<Variable> wanted;
        if (s.needs(0)) wanted.push_back(in);
        for (const Variable& p : parameters)
          if (p.requires_grad()) wanted.push_back(p);
        const Variable again = f(in, true);
        // What f uses may all be constant: then nothing has a gradient.
        std::vector<Variable> gradients(wanted.size());
        if (again.requires_grad()) gradients = grad({again}, wanted, options);
        Grads out;
        std::size_t next = 0;
        out.push_back(s.needs(0) ? gradients[next++] : Variable());
        for (const Variable& p : parameters)
          out.push_back(p.requires_grad() ? gradients[next++] : Variable());
        return out;
      });
}

}  // namespace minigpt
