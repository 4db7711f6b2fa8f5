#include <cmath>

#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"
#include "nn/optim/adam.h"
#include "nn/optim/sgd.h"
#include "tensor/arithmetic.h"
#include "tensor/reduce.h"
#include "tensor/unary.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr double kRate = 0.1, kBeta1 = 0.9, kBeta2 = 0.999, kEps = 1e-8;

// A long narrow valley: 100 times as steep across (w1) as along (w2). Its gradient is (100 w1, w2).
Variable valley(const Variable& w) { return sum(w * w * Variable(Tensor::from<double>({50, 0.5}, {2}))); }

Variable start() { return Variable(Tensor::from<double>({1, 1}, {2}), true); }

// One group with the single parameter w.
std::vector<ParameterGroup> group_of(const Variable& w, double rate, double decay = 0) {
  return {{{{"w", w, {}}}, rate, decay}};
}

// The loss after some steps.
double after(int steps, Optimizer& optimizer, const Variable& w) {
  for (int i = 0; i < steps; ++i) {
    optimizer.zero_grad();
    valley(w).backward();
    optimizer.step();
  }
  return valley(w).item();
}

}  // namespace

void adamw(Page& page) {
  page.heading({"AdamW: a step size for every weight", "AdamW：每个权重有自己的步长"});
  page.say(
      {"Gradient descent moves every weight by rate * gradient. That fails where directions differ in "
       "steepness. Take the loss 50 w1^2 + 0.5 "
       "w2^2, a valley a hundred times as steep across as along. A rate that is safe for w1 (below 2 / 100) "
       "hardly moves w2.",
       "梯度下降让每个权重移动“学习率 * 梯度”。各方向陡峭程度不同时就不好办了。取损失 50 w1^2 + 0.5 "
       "w2^2：这是一条峡谷，"
       "横向比纵向陡一百倍。对 w1 安全的学习率（小于 2 / 100）几乎推不动 w2。"});
  Variable w = start();
  Sgd sgd(group_of(w, 0.019));
  page.line("  {:<6} {:>10} {:>10} {:>12}", "SGD", "w1", "w2", "loss");
  for (int step = 0; step <= 20; step += 5) {
    page.line("  {:<6} {:>10.4f} {:>10.4f} {:>12.4f}", step, w.value().at({0}), w.value().at({1}),
              valley(w).item());
    if (step < 20) after(5, sgd, w);
  }

  page.heading({"1. By hand", "第一步：手算"});
  page.say(
      {"AdamW keeps two running averages per weight: m of the gradient g, and v of its square. m / sqrt(v) "
       "is about 1 wherever the gradient "
       "keeps its sign, however large it is, and small where it changes sign. So all weights move about "
       "`rate` per step:",
       "AdamW 为每个权重记两个滑动平均：m 是梯度 g 的平均，v 是 g^2 "
       "的平均。只要梯度的符号不变，不论它多大，m / sqrt(v) 都约等于 1；"
       "符号来回变，它就小。于是每个权重每步大约都移动一个学习率："});
  page.line("  m = 0.9 m + 0.1 g             v = 0.999 v + 0.001 g^2");
  page.line(
      "  M = m / (1 - 0.9^t)           V = v / (1 - 0.999^t)         both averages start at 0: this makes up "
      "for it");
  page.line("  w = w - rate * decay * w - rate * M / (sqrt(V) + 1e-8)");
  const double decay = 0.1;
  page.line("  here rate = {}, decay = {}", kRate, decay);
  Variable library = start();
  Adam adam(group_of(library, kRate, decay), {kBeta1, kBeta2, kEps, true});
  double hand[2] = {1, 1}, m[2] = {}, v[2] = {}, apart = 0;
  page.line("");
  page.line("  {:<2} {:<3} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>13}", "t", "", "g", "m", "v", "M",
            "sqrt(V)", "w", "w, library");
  for (int t = 1; t <= 5; ++t) {
    adam.zero_grad();
    valley(library).backward();
    adam.step();
    for (int i = 0; i < 2; ++i) {
      const double g = (i == 0 ? 100 : 1) * hand[i];
      m[i] = kBeta1 * m[i] + (1 - kBeta1) * g;
      v[i] = kBeta2 * v[i] + (1 - kBeta2) * g * g;
      const double M = m[i] / (1 - std::pow(kBeta1, t)), V = v[i] / (1 - std::pow(kBeta2, t));
      hand[i] = hand[i] - kRate * decay * hand[i] - kRate * M / (std::sqrt(V) + kEps);
      const double theirs = library.value().at({i});
      apart = std::max(apart, std::fabs(hand[i] - theirs));
      page.line("  {:<2} w{:<2} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>10.4f} {:>13.4f}", t,
                i + 1, g, m[i], v[i], M, std::sqrt(V), hand[i], theirs);
    }
  }
  check(apart < 1e-12, "adamw", "by hand and by the library differ by {}", apart);
  page.say(
      {"By hand and by nn/optim/adam.h: the same. w1 and w2 go down together, though one gradient is a "
       "hundred times the other.",
       "手算和 nn/optim/adam.h 的结果相同。虽然两个梯度相差一百倍，w1 和 w2 却同步下降。"});

  page.heading({"2. The race", "第二步：比一比"});
  Variable by_sgd = start(), by_adam = start();
  Sgd slow(group_of(by_sgd, 0.019));
  Adam fast(group_of(by_adam, kRate));
  const double sgd_loss = after(100, slow, by_sgd), adam_loss = after(100, fast, by_adam);
  page.value(Text{"loss after 100 steps of SGD, rate 0.019", "SGD 走 100 步后的损失，学习率 0.019"},
             sgd_loss);
  page.value(Text{"loss after 100 steps of AdamW, rate 0.1", "AdamW 走 100 步后的损失，学习率 0.1"},
             adam_loss);

  page.heading({"3. The W", "第三步：W 是什么"});
  page.say(
      {"Weight decay pulls every weight towards 0. Adam used to add decay * w to the gradient; but then it "
       "is divided by sqrt(V) like the rest, and "
       "weights with large gradients are hardly decayed. AdamW takes rate * decay * w off the weight itself. "
       "One step with decay 0.5 "
       "from w = (1, 1):",
       "权重衰减把每个权重往 0 拉。早先的 Adam 把 decay * w 加进梯度，可这样它也会被 sqrt(V) "
       "除，梯度大的权重几乎不衰减。"
       "AdamW 则直接从权重里减去 rate * decay * w。从 w = (1, 1) 出发，decay = 0.5，走一步："});
  Variable decoupled = start(), in_gradient = start();
  Adam w_adam(group_of(decoupled, kRate, 0.5)),
      l2_adam(group_of(in_gradient, kRate, 0.5), {kBeta1, kBeta2, kEps, false});
  after(1, w_adam, decoupled);
  after(1, l2_adam, in_gradient);
  page.matrix("AdamW", decoupled.value());
  page.matrix(Text{"Adam, decay in the gradient", "Adam，衰减加在梯度里"}, in_gradient.value());
  page.say(
      {"In the second line the decay has no effect at all: the first step of Adam has length `rate`, "
       "whatever is in the gradient.",
       "第二行里衰减完全没起作用：Adam 的第一步总是一个学习率那么长，梯度里加了什么都一样。"});

  page.exercise(
      {"What does the first step change w by if the gradient is 0.0001 and the rate is 0.1 (no decay)?",
       "梯度是 0.0001，学习率 0.1，没有衰减，第一步 w 变化多少？"},
      {"M / sqrt(V) = 1, so by -0.1. Only the sign of the first gradient counts.",
       "M / sqrt(V) = 1，所以变化 -0.1。第一步只看梯度的符号。"},
      -0.1, -kRate * 1e-4 / (std::sqrt(1e-8) + kEps));
  page.exercise(
      {"Without the division by 1 - 0.9^t and 1 - 0.999^t, what would m / sqrt(v) be in the first step?",
       "如果不除以 1 - 0.9^t 和 1 - 0.999^t，第一步的 m / sqrt(v) 是多少？"},
      {"0.1 g / sqrt(0.001 g^2) = 3.1623: three times too far",
       "0.1 g / sqrt(0.001 g^2) = 3.1623：步子大了三倍"},
      3.1623, (1 - kBeta1) / std::sqrt(1 - kBeta2));
  page.exercise(
      {"A weight of 2 gets gradients of 0 for one step, rate 0.1, decay 0.5. What is it afterwards?",
       "权重为 2，梯度为 0，学习率 0.1，衰减 0.5，一步之后是多少？"},
      {"2 - 0.1 * 0.5 * 2 = 1.9", "2 - 0.1 * 0.5 * 2 = 1.9"}, 1.9, [] {
        Variable p(Tensor::from<double>({2}, {1}), true);
        p.set_grad(Variable(zeros({1}, DType::f64)));
        Adam one(group_of(p, 0.1, 0.5));
        one.step();
        return p.value().at({0});
      }());
}

}  // namespace minigpt::lessons
