// Learns "exclusive or" with the installed library: a layer of 8, tanh, a layer of 1, mean squared error, Adam.

#include <cstdio>

#include "autograd/ops.h"
#include "nn/linear.h"
#include "nn/optim/adam.h"

using namespace minigpt;

// y = W2 tanh(W1 x + b1) + b2.   x: (B, 2)  ->  y: (B, 1)
struct Mlp : Module {
  Linear hidden, output;

  explicit Mlp(Generator& rng) : hidden(2, 8, true, rng), output(8, 1, true, rng) {}
  template <class V>
  void visit(V&& v) {
    v("hidden", hidden);
    v("output", output);
  }
  Variable forward(const Variable& x) const { return output.forward(tanh(hidden.forward(x))); }
};

int main() {
  const Variable x(Tensor::from<float>({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2}));
  const Variable target(Tensor::from<float>({0, 1, 1, 0}, {4, 1}));

  Generator rng(1337);
  Mlp mlp(rng);
  Adam optimizer({{named_parameters(mlp), 0.05}});
  double loss_value = 1;
  for (int step = 0; step < 150; ++step) {
    const Variable error = mlp.forward(x) - target;
    Variable loss = mean(error * error);
    loss_value = loss.item();
    if (step % 50 == 0) std::printf("step %3d  loss %.6f\n", step, loss_value);
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  std::printf("the end   loss %.6f\n", loss_value);
  const NoGrad no_grad;
  const Tensor y = mlp.forward(x).value();
  for (int i = 0; i < 4; ++i)
    std::printf("%d xor %d = %.2f\n", i / 2, i % 2, static_cast<double>(y.data<float>()[i]));
  return loss_value < 0.01 ? 0 : 1;
}
