#include "autograd/ops/layer_norm.h"

#include "autograd/gradcheck.h"
#include "autograd/ops/sum.h"
#include "tensor/arithmetic.h"
#include "tensor/reduce.h"
#include "tensor/unary.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void layer_norm(Page& page) {
  constexpr double kEps = 1e-5;
  page.heading({"LayerNorm and its gradient", "LayerNorm 和它的梯度"});
  page.say(
      {"Dozens of layers multiply numbers that are a little too large or too small into numbers that are far "
       "too large or too "
       "small. LayerNorm puts every word's vector back to mean 0 and variance 1, and then lets two learnt "
       "vectors, weight and bias, "
       "stretch and shift it:",
       "数值稍大或稍小一点，乘过几十层之后就会大得离谱或小得离谱。LayerNorm 把每个词的向量拉回均值 0、方差 "
       "1，"
       "再用两个学来的向量 weight 和 bias 拉伸、平移："});
  page.line("  h = (x - mean(x)) / sqrt(var(x) + eps)        y = h * weight + bias");
  page.say(
      {"mean and var run over one vector, never over the batch or over time. var divides by C, not by C - 1.",
       "均值和方差只在一个向量内部计算，不跨样本，也不跨位置。方差除以 C，而不是 C - 1。"});

  page.heading({"1. Forward, step by step", "第一步：前向，一步一步来"});
  const Tensor x = Tensor::from<double>({1, 2, 3, 6, 10, 20, 30, 60}, {2, 4});
  const Tensor weight = Tensor::from<double>({1, 1, 2, 0.5}, {4}),
               bias = Tensor::from<double>({0, 0, 0.5, 0}, {4});
  page.matrix("x", x);
  const Tensor average = mean(x, {-1}, true), variance = var(x, {-1}, 0, true);
  const Tensor sigma = sqrt(variance + kEps), h = (x - average) / sigma;
  page.matrix("mean", average);
  page.matrix("var", variance);
  page.matrix("h", h);
  page.say(
      {"The second row is ten times the first, and h is the same (but for eps): the scale of a vector is "
       "forgotten.",
       "第二行是第一行的十倍，h 却一样（只差 eps 的一点影响）：向量的大小被忘掉了。"});
  page.matrix("weight", weight);
  page.matrix("bias", bias);
  const Tensor y = h * weight + bias;
  page.matrix("y = h * weight + bias", y);

  page.heading({"2. Backward", "第二步：反向"});
  page.say(
      {"Given dy, the gradient of y, what are those of weight, bias and x? The first two were repeated for "
       "every row, so they are sums "
       "over rows. For x, with g = dy * weight the gradient of h: x changes h directly, through the mean and "
       "through the "
       "variance. The three parts together are",
       "已知 y 的梯度 dy，weight、bias 和 x 的梯度是多少？前两个在每一行都用到，所以要对行求和。对 x，记 h "
       "的梯度为 "
       "g = dy * weight：x 不仅直接影响 h，还通过均值和方差影响它。三部分合起来是"});
  page.line("  dbias = sum over rows of dy        dweight = sum over rows of dy * h");
  page.line("  dx = (g - mean(g) - h * mean(g * h)) / sqrt(var + eps)");
  const Tensor dy = Tensor::from<double>({1, 0, -1, 2, 0.5, 1, 0, 0}, {2, 4});
  const Tensor g = dy * weight;
  const Tensor dx = (g - mean(g, {-1}, true) - h * mean(g * h, {-1}, true)) / sigma;
  page.matrix("dy", dy);
  page.matrix(Text{"dx, by this formula", "照公式算的 dx"}, dx);
  Variable vx(x, true), vw(weight, true), vb(bias, true);
  const Variable out = layer_norm(vx, vw, vb, kEps);
  BackwardOptions options;
  options.gradient = Variable(dy);
  out.backward(options);
  page.matrix(Text{"dx, library", "程序库的 dx"}, vx.grad().value());
  page.matrix(Text{"dweight, library", "程序库的 dweight"}, vw.grad().value());
  page.matrix(Text{"dbias, library", "程序库的 dbias"}, vb.grad().value());
  const double apart = max(abs(dx - vx.grad().value())).item();
  const GradcheckResult checked = minigpt::gradcheck(
      [](const std::vector<Variable>& v) { return layer_norm(v[0], v[1], v[2], kEps); }, {vx, vw, vb});
  check(apart < 1e-12 && checked.ok, "layer_norm", "formula and library differ by {}; {}", apart,
        checked.str());
  page.line("  {}", checked.str());

  page.heading({"3. Reading the formula", "第三步：读懂这个公式"});
  page.say(
      {"mean(g) and h * mean(g * h) are subtracted because two directions do nothing: adding the same number "
       "to all of x, and "
       "stretching x about its mean. Moving x along them does not change y, so dx has no part along them:",
       "要减去 mean(g) 和 h * mean(g * h)，是因为有两个方向不起作用：给 x "
       "的每个数加上同一个数，或者绕着均值把 x 拉长。"
       "沿这两个方向挪动 x，y 不变，所以 dx 在这两个方向上没有分量："});
  page.matrix("sum(dx)", sum(dx, {-1}));
  page.matrix("sum(dx * h)", sum(dx * h, {-1}));
  page.say(
      {"And the larger sqrt(var), the smaller dx: a vector ten times as long gets a tenth of the gradient. "
       "(sum(dx * h) is not quite 0, because "
       "eps in the square root is not scaled along.) In this project the formula stands in "
       "autograd/ops/layer_norm.h.",
       "而且 sqrt(var) 越大，dx 越小：向量放大十倍，梯度就缩小到十分之一。（sum(dx * h) 不严格为 "
       "0，因为根号里的 eps 没有跟着放大。）"
       "本项目里，这个公式写在 autograd/ops/layer_norm.h。"});

  const auto normalised = [&](const Tensor& t) {
    return layer_norm(Variable(t), Variable(), Variable(), kEps).value();
  };
  page.exercise({"Add 100 to every number of the first row. What is its h at the last position?",
                 "给第一行的每个数都加 100，它最后一个位置的 h 是多少？"},
                {"unchanged: 1.6036", "不变：1.6036"}, 1.6036, normalised(x + 100).at({0, 3}));
  page.exercise({"What is h of a row of four equal numbers, and what would it be without eps?",
                 "如果一行的四个数全相等，h 是多少？没有 eps 会怎样？"},
                {"0; without eps 0 / 0, not a number", "0；没有 eps 就是 0 / 0，不是一个数"}, 0,
                normalised(ones({1, 4}, DType::f64)).at({0, 2}));
  page.exercise({"What is the mean of h * h over a row of C numbers (eps aside)?",
                 "一行里 h * h 的平均值是多少（不计 eps）？"},
                {"1: it is the variance", "1：这就是方差"}, 1, mean(h * h, {-1}).at({1}));
}

}  // namespace minigpt::lessons
