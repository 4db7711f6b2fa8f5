#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "nn/attention/self_attention_v2.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// softmax exactly as the formula says, without care for rows in which everything is hidden.
Tensor plain_softmax(const Tensor& scores) {
  const Tensor e = exp(scores - max(scores, {-1}, true));
  return e / sum(e, {-1}, true);
}

}  // namespace

void causal_mask(Page& page) {
  page.heading({"Not looking at what comes later", "不许看后面"});
  page.say(
      {"A language model guesses the next word. While it trains, the whole text lies before it, and "
       "unless something stops it, word 2 simply looks at word 3 and the guessing is over. The causal "
       "mask stops it: each word may look at itself and at earlier words only.",
       "语言模型要猜下一个词。训练时整句话都摆在它面前，如果不拦着，第 2 个词看一眼第 3 个词，就不用猜了。"
       "因果掩码就是用来拦的：每个词只能看自己和前面的词。"});
  page.matrix(Text{"may look: 1 = yes", "能不能看：1 = 能"}, tril(ones({5, 5})));
  page.say({"Row = the word that looks, column = the word looked at; the last row sees everything. Our "
            "six words, with the layers of the last lesson (seed {}):",
            "行是看的词，列是被看的词，最后一行什么都能看。下面用我们的六个词和上一课的 v2 层（种子 {}）："},
           page.seed_or(789));
  Generator rng(page.seed_or(789));
  const SelfAttentionV2 layer(3, 2, false, rng);
  const Variable x(example_words());
  const Tensor q = layer.W_query.forward(x).value(), k = layer.W_key.forward(x).value();
  const Tensor scores = matmul(q, transpose(k)) / std::sqrt(2.0);  // (6, 6)
  page.matrix(Text{"weights without a mask", "没有掩码时的权重"}, softmax(scores));

  page.heading({"Way A: softmax, then zero, then divide again", "做法一：先 softmax，再清零，再除一次"});
  const Tensor zeroed = tril(softmax(scores));
  page.matrix(Text{"zeroed: rows no longer add up to 1", "清零之后：每行的和不再是 1"}, zeroed);
  const Tensor renormalised = zeroed / sum(zeroed, {-1}, true);
  page.matrix(Text{"divided by the sum of each row", "除以每行之和"}, renormalised);

  page.heading({"Way B: -inf into the scores, then softmax", "做法二：分数填 -inf，再 softmax"});
  const Tensor future = logical_not(tril_mask(6, 6));
  const Tensor hidden = masked_fill(scores, future, -kInfinity);
  page.matrix(Text{"scores with -inf", "填了 -inf 的分数"}, hidden);
  const Tensor weights = softmax(hidden);
  page.heat_map(Text{"causal weights", "加了因果掩码的权重"}, weights, example_tokens(), example_tokens());
  const Tensor gap = weights - renormalised;
  page.value(Text{"largest difference between A and B", "两种做法的最大差别"},
             std::max(max(gap).item(), max(gap * -1.0).item()));
  page.say(
      {"e^-inf is 0, so B gives zeros and sums of 1 in one go. They are the same, because the sum over "
       "the hidden words, which A divides by first, cancels in the second division: nothing leaks.",
       "e 的 -inf 次方等于 0，所以做法二一步就得到 0，并且每行的和为 1。两种做法相同，因为做法一先除以的"
       "总和里虽然含有被遮住的词，第二次相除时又约掉了：什么也没泄漏。"});
  page.say({"One of the texts behind this project shows a before-and-after table whose second row goes "
            "from 0.15 0.17 to 0.45 0.55. That table is only an illustration: dividing by 0.15 + 0.17 "
            "gives {:.4f} {:.4f}.",
            "本项目依据的一篇文章里有一张前后对照表，第二行从 0.15 0.17 变成 0.45 0.55。那张表只是示意："
            "除以 0.15 + 0.17，应该得到 {:.4f} {:.4f}。"},
           0.15 / 0.32, 0.17 / 0.32);

  page.heading({"-inf or -1e9?", "填 -inf 还是 -1e9？"});
  page.say(
      {"Many programs write -1e9. As long as a row has something left to see, both give the same: e^-1e9 "
       "is 0 too. They part where a row sees nothing at all, as with a text that is all padding:",
       "很多程序填的是 -1e9。只要一行里还剩下能看的词，两者没有区别：e 的 -1e9 次方也是 0。区别在于一行什"
       "么都看不到的时候，比如一条全是填充的文本："});
  const Tensor nothing = full({1, 6}, -kInfinity);
  page.matrix(Text{"-inf, the formula as it stands", "-inf，照公式直接算"}, plain_softmax(nothing));
  page.matrix("-1e9", plain_softmax(masked_fill(slice(scores, 0, 0, 1), ones({1, 6}, DType::boolean), -1e9)));
  page.matrix(Text{"-inf, softmax of this library", "-inf，本库的 softmax"}, softmax(nothing));
  page.say(
      {"NaN is 0/0. It spreads to everything it is added to, and through the gradient to all weights: one "
       "such row ruins a training run, but at least you notice. -1e9 quietly attends to exactly the words "
       "that were to be hidden, and does not even fit into 16-bit floats, which end at 65504. Here the "
       "row is zero: the word gets nothing, and its gradient is zero. The price is one more test per row "
       "inside softmax.",
       "NaN 就是 0/0。它加到什么上，什么就变成 NaN，还会顺着梯度传到所有参数：一行就能毁掉整个训练，不过"
       "至少看得出来。-1e9 则悄悄地把注意力平均分给了本该遮住的词，而且 16 位浮点数最大只到 65504，根本放"
       "不下它。本库的结果是全 0：这个词什么也得不到，梯度也是 0。代价是 softmax 每行多判断一次。"});

  const auto gradient_size = [&](const Tensor& mask_row) {
    Variable s(slice(scores, 0, 0, 1).clone(), true);
    const Variable w = softmax(masked_fill(s, mask_row, -kInfinity));
    sum(w * w).backward();
    return sum(abs(s.grad().value())).item();
  };
  page.exercise({"With the causal mask, what is word 1's weight on itself, and why?",
                 "有了因果掩码，第 1 个词对自己的权重是多少？为什么？"},
                {"1: it sees nothing else", "1：它看不到别的词"}, 1.0, weights.at({0, 0}));
  page.exercise({"How many of the 36 weights are hidden?", "36 个权重里有多少个被遮住？"},
                {"6 x 5 / 2 = 15", "6 x 5 / 2 = 15"}, 15, sum(future.to(DType::f32)).item());
  page.exercise({"How large is the gradient of the scores of a row that sees nothing?",
                 "一行什么都看不到时，它的分数的梯度有多大？"},
                {"exactly 0", "正好是 0"}, 0, gradient_size(ones({1, 6}, DType::boolean)));
}

}  // namespace minigpt::lessons
