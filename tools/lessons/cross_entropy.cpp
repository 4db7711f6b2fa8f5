#include "autograd/ops/cross_entropy.h"

#include <cmath>

#include "tensor/arithmetic.h"
#include "tensor/reduce.h"
#include "tensor/rows.h"
#include "tensor/unary.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void cross_entropy(Page& page) {
  page.heading({"Cross-entropy: the loss of a guess", "交叉熵：一次猜测的损失"});
  page.say(
      {"A language model gives a score, called logit, to every possible next character. Softmax turns the "
       "scores into probabilities. The "
       "loss is -ln of the probability that the right character got: 0 if the model was sure and right, "
       "large if it was sure and "
       "wrong. Four characters a b c d; in row 1 the right one is b, in row 2 it is a.",
       "语言模型给每个可能的下一个字符打一个分数，叫 logit。softmax "
       "把分数变成概率。损失就是正确字符所得概率的 -ln："
       "又有把握又猜对，损失为 0；很有把握却猜错，损失就很大。设有四个字符 a b c d；第 1 行的正确答案是 "
       "b，第 2 行是 a。"});
  const Tensor logits = Tensor::from<double>({2, 1, 0, -1, 3, 0, 0, 0}, {2, 4});
  const Tensor targets = Tensor::from<std::int32_t>({1, 0}, {2});
  page.matrix("logits", logits);
  const Tensor p = softmax(logits);
  page.matrix("p = softmax(logits)", p);
  const double first = -std::log(p.at({0, 1})), second = -std::log(p.at({1, 0}));
  page.value(Text{"loss of row 1 = -ln p(b)", "第 1 行的损失 = -ln p(b)"}, first);
  page.value(Text{"loss of row 2 = -ln p(a)", "第 2 行的损失 = -ln p(a)"}, second);
  page.value(Text{"their mean", "两者的平均"}, (first + second) / 2);
  Variable x(logits, true);
  const Variable loss = cross_entropy(x, targets);
  page.value(Text{"cross_entropy, library", "程序库的 cross_entropy"}, loss.item());

  page.heading({"1. The gradient is p - y", "第一步：梯度就是 p - y"});
  page.say(
      {"ln softmax(x)_t = x_t - ln(sum_k e^(x_k)), so the loss is ln(sum_k e^(x_k)) - x_t. The slope of the "
       "first term with x_j is e^(x_j) / "
       "sum = p_j; that of -x_t is -1 at the target and 0 elsewhere. So d loss / d x = p - y, where y is 1 "
       "at the target: what was "
       "predicted minus what was true. With the mean over N rows, divided by N.",
       "ln softmax(x)_t = x_t - ln(sum_k e^(x_k))，所以损失等于 ln(sum_k e^(x_k)) - x_t。第一项对 x_j "
       "的斜率是 e^(x_j) / 总和 = p_j；"
       "-x_t 的斜率在正确字符处是 -1，别处是 0。于是 d loss / d x = p - y，其中 y 在正确字符处为 "
       "1：预测减去真相。对 N 行取平均时，再除以 N。"});
  const Tensor y = Tensor::from<double>({0, 1, 0, 0, 1, 0, 0, 0}, {2, 4});
  page.matrix("(p - y) / 2", (p - y) / 2);
  loss.backward();
  page.matrix(Text{"d loss / d logits, library", "程序库的 d loss / d logits"}, x.grad().value());
  const double apart = max(abs((p - y) / 2 - x.grad().value())).item();
  check(apart < 1e-15, "cross_entropy", "p - y and the library's gradient differ by {}", apart);
  page.say(
      {"The gradient pushes the right score up and the others down, in proportion to how much probability "
       "they wrongly hold. Each row "
       "adds up to 0: what one score loses, others gain. It never exceeds 1 and vanishes as p approaches y, "
       "which is why softmax and this "
       "loss belong together.",
       "梯度把正确的分数往上推，其余的往下压，占了多少不该占的概率，就压多少。每一行加起来是 0：此消彼长。"
       "它的绝对值不超过 1，p 接近 y 时趋于 0——softmax 和这个损失正是天生一对。"});

  page.heading({"2. A few steps downhill", "第二步：往下走几步"});
  page.say({"If the logits of row 1 were parameters: logits -= p - y, a few times.",
            "假如第 1 行的 logits 就是参数，反复做 logits -= p - y："});
  Tensor row = Tensor::from<double>({2, 1, 0, -1}, {1, 4});
  const Tensor b = Tensor::from<std::int32_t>({1}, {1});
  for (int step = 0; step <= 4; ++step) {
    Variable v(row, true);
    const Variable l = cross_entropy(v, b);
    l.backward();
    page.line("  step {}:  loss {:.4f}   p(b) {:.4f}", step, l.item(), std::exp(-l.item()));
    row = row - v.grad().value();
  }

  page.heading({"3. How good is a loss?", "第三步：损失多少算好？"});
  page.say(
      {"A model that knows nothing gives each of V characters 1 / V and has the loss ln V. That is where "
       "every training must start; if it "
       "starts higher, the initial weights are wrong. e^loss (perplexity) is the number of equally likely "
       "characters the model hesitates "
       "between; loss / ln 2 is the number of bits per character.",
       "什么都不知道的模型给 V 个字符各 1 / V 的概率，损失是 ln "
       "V。每次训练都该从这里起步；起点更高，说明初始权重有问题。"
       "e^loss（困惑度）表示模型好像在几个同样可能的字符之间犹豫；loss / ln 2 是每个字符的比特数。"});
  page.value(Text{"ln 65 (the characters of tiny Shakespeare)", "ln 65（tiny Shakespeare 的字符数）"},
             std::log(65.0));
  page.value(Text{"perplexity at a loss of 1.5", "损失为 1.5 时的困惑度"}, std::exp(1.5));
  page.value(Text{"bits per character at a loss of 1.5", "损失为 1.5 时每字符的比特数"}, 1.5 / std::log(2.0));

  page.heading({"4. Large scores", "第四步：分数很大时"});
  page.say(
      {"e^1000 is too large for any float, so softmax and loss are never computed as written. Subtracting "
       "the largest score first changes "
       "nothing (it cancels) and leaves no exponent above 0.",
       "e^1000 "
       "超出任何浮点数的范围，所以不能照公式直接算。先减去最大的分数，结果不变（分子分母抵消），而指数再也不"
       "会大于 0。"});
  const Tensor large = Tensor::from<float>({1000, 999, 0}, {1, 3});
  page.matrix("x", large);
  page.matrix(Text{"e^x / sum, as written", "照公式直接算 e^x / 总和"},
              exp(large) / sum(exp(large), {-1}, true));
  page.matrix(Text{"softmax(x), library", "程序库的 softmax(x)"}, softmax(large));
  page.value(Text{"loss if the second is right", "正确答案是第二个时的损失"},
             cross_entropy(Variable(large), Tensor::from<std::int32_t>({1}, {1})).item());

  page.exercise(
      {"The right character got p = 0.25. What is the loss?", "正确字符得到 p = 0.25，损失是多少？"},
      {"ln 4 = 1.3863", "ln 4 = 1.3863"}, 1.3863, -std::log(0.25));
  page.exercise({"The right one got p = 0.9. What is the gradient at its logit (a single row)?",
                 "正确字符得到 p = 0.9，（只有一行时）它的 logit 的梯度是多少？"},
                {"0.9 - 1 = -0.1: little is left to learn from it", "0.9 - 1 = -0.1：从这里已经学不到多少了"},
                -0.1, 0.9 - 1);
  page.exercise(
      {"Add 5 to all logits of row 1. What is its loss now?",
       "给第 1 行所有 logits 都加 5，它的损失变成多少？"},
      {"the same, 1.4402: only differences of scores count", "不变，1.4402：只有分数之差才有意义"}, 1.4402,
      [&] { return cross_entropy(Variable(logits + 5), targets, Reduction::none).value().at({0}); }());
}

}  // namespace minigpt::lessons
