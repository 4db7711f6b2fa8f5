#include "autograd/gradcheck.h"

#include <cmath>

#include "autograd/ops/relu.h"
#include "nn/attention/scaled_dot_product_attention.h"
#include "tensor/generator.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// A backward pass with a typical mistake: the slope of x^2 is 2 x, and the 2 was forgotten.
Variable wrong_square(const Variable& x) {
  return record("wrong_square", mul(x.value(), x.value()), {x}, save(input(0)),
                [](const Saved& s, const Variable& dy) { return Grads{dy * s.input(0)}; });
}

Variable random_input(const Shape& shape, Generator& rng) {
  Tensor t = Tensor::empty(shape, DType::f64);
  rng.normal(std::span(t.mutable_data<double>(), static_cast<std::size_t>(t.numel())));
  return Variable(t, true);
}

template <class T>
double slope_error(double exact, T x, T eps) {
  const T slope = (std::tanh(x + eps) - std::tanh(x - eps)) / (2 * eps);
  return std::fabs(static_cast<double>(slope) - exact);
}

}  // namespace

void gradcheck(Page& page) {
  page.heading({"Checking gradients by moving the inputs", "挪一挪输入，检验梯度"});
  page.say(
      {"A wrong backward pass rarely crashes: the model just learns badly. So every operation here is "
       "checked against the "
       "definition of a slope. Move x a little both ways, see how the result changes, divide:",
       "反向传播写错了通常不会崩溃，模型只是学不好。所以这里每一个运算都拿斜率的定义来检验：把 x "
       "向两边各挪一点，看结果变了多少，再相除："});
  page.line("  slope = (f(x + eps) - f(x - eps)) / (2 eps)");

  page.heading({"1. How little is a little?", "第一步：“一点”是多少？"});
  page.say(
      {"The slope of tanh at 1 is 1 - tanh(1)^2. The table shows by how much the formula misses it. A large "
       "eps is wrong because "
       "tanh is curved (the error falls with eps^2). A small eps is wrong because both results are rounded, "
       "and the "
       "difference of two nearly equal numbers keeps little but the rounding (the error grows with 1 / eps).",
       "tanh 在 1 处的斜率是 1 - tanh(1)^2。下表是用上式计算的误差。eps 太大，误差来自 tanh 的弯曲（随 eps "
       "的平方减小）；"
       "eps 太小，误差来自舍入：两个几乎相等的数相减，剩下的多半是舍入误差（随 1 / eps 增大）。"});
  const double exact = 1 - std::pow(std::tanh(1.0), 2);
  page.value("1 - tanh(1)^2", exact);
  page.line("  {:<8} {:>14} {:>14}", "eps", "float64", "float32");
  for (int power = 1; power <= 11; power += 2) {
    const double eps = std::pow(10, -power);
    page.line("  1e-{:<5} {:>14.1e} {:>14.1e}", power, slope_error(exact, 1.0, eps),
              slope_error(exact, 1.0F, static_cast<float>(eps)));
  }
  page.say(
      {"In float64 an eps near 1e-5 leaves ten good digits; float32 never has more than three or four. That "
       "is why gradients are "
       "checked in float64, and why every kernel of this library exists in both.",
       "用 float64，eps 取 1e-5 左右可以有十位正确数字；float32 最多三四位。所以梯度检验都用 float64，"
       "本库的每个计算核心也因此有两种精度的版本。"});

  page.heading({"2. A whole attention layer", "第二步：检验整个注意力层"});
  page.say(
      {"A function of many numbers is checked one number at a time; the results are weighted with fixed "
       "numbers and added up, so "
       "that there is a single slope for each. Causal attention of 2 heads, 4 words, 3 numbers per word:",
       "输入有许多个数，就一个一个地检验；输出乘上固定的权重再求和，于是每个输入数对应一个斜率。"
       "下面是 2 个头、4 个词、每词 3 个数的因果注意力："});
  Generator rng(page.seed_or(1));
  const std::vector<Variable> qkv = {random_input({2, 4, 3}, rng), random_input({2, 4, 3}, rng),
                                     random_input({2, 4, 3}, rng)};
  const GradcheckFunction attention = [](const std::vector<Variable>& v) {
    AttentionOptions options;
    options.causal = true;
    return scaled_dot_product_attention(v[0], v[1], v[2], options).out;
  };
  const GradcheckResult good = minigpt::gradcheck(attention, qkv);
  page.line("  {}", good.str());
  page.say(
      {"The gradient is itself a function, so its slopes can be checked in the same way (second "
       "derivatives):",
       "梯度本身也是函数，它的斜率也能照样检验（二阶导数）："});
  const GradcheckResult second = gradgradcheck(attention, qkv);
  page.line("  {}", second.str());

  page.heading({"3. A mistake", "第三步：一个错误"});
  page.say(
      {"Here is a square whose backward pass forgets the factor 2. It would still train, at half the speed.",
       "这个平方运算的反向传播漏了系数 2。用它照样能训练，只是慢一半。"});
  const GradcheckResult bad = minigpt::gradcheck(
      [](const std::vector<Variable>& v) { return wrong_square(v[0]); }, {random_input({4}, rng)});
  page.line("  {}", bad.str());
  check(good.ok && second.ok && !bad.ok, "gradcheck", "the lesson's own checks went wrong");

  page.heading({"4. Where it must not be used", "第四步：什么地方不能用"});
  page.say(
      {"relu has a kink at 0. Moving both ways sees half of it: slope 0.5, while the backward pass says 0. "
       "Neither is wrong; there is "
       "no slope. Keep test inputs away from kinks.",
       "relu 在 0 处有个折角。向两边挪动，看到的斜率是 0.5，反向传播却说是 "
       "0。两者都没错：那里本来就没有斜率。测试用的输入要避开折角。"});
  Variable zero(Tensor::scalar(0.0), true);
  minigpt::relu(zero).backward();
  page.value(Text{"relu, moved both ways", "relu，向两边挪动"},
             (std::max(1e-6, 0.0) - std::max(-1e-6, 0.0)) / 2e-6);
  page.value(Text{"relu, backward", "relu，反向传播"}, zero.grad().item());
  page.say({"minigpt gradcheck does all this for every parameter of a small GPT.",
            "命令 minigpt gradcheck 会对一个小 GPT 的每个参数做这样的检验。"});

  page.exercise({"Take f(x) = x^2 at x = 3 with the huge eps = 1. What slope does the formula give, and why "
                 "is it exact?",
                 "f(x) = x^2，x = 3，eps 取很大的 1。公式给出的斜率是多少？为什么正好准确？"},
                {"(16 - 4) / 2 = 6: the error comes from the third derivative, which x^2 does not have.",
                 "(16 - 4) / 2 = 6：误差来自三阶导数，而 x^2 的三阶导数是 0。"},
                6, (4.0 * 4 - 2.0 * 2) / 2);
  page.exercise(
      {"And if x is moved one way only, (f(4) - f(3)) / 1?", "如果只向一边挪，(f(4) - f(3)) / 1 呢？"},
      {"7: off by eps. Both ways is better.", "7：误差正好是 eps。向两边挪更好。"}, 7, 4.0 * 4 - 3.0 * 3);
  page.exercise({"How many numbers were moved for the attention layer above?",
                 "上面检验注意力层时，一共挪动了多少个数？"},
                {"3 inputs of 2 * 4 * 3 numbers: 72", "3 个输入，每个 2 * 4 * 3 个数：72 个"}, 72,
                static_cast<double>(good.checked));
}

}  // namespace minigpt::lessons
