#include "autograd/ops.h"
#include "nn/attention/self_attention_v2.h"
#include "nn/dropout_stream.h"
#include "tensor/reduce.h"
#include "tensor/triangle.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void attention_dropout(Page& page) {
  page.heading({"Dropout: hiding at random while training", "Dropout：训练时随机遮住一些"});
  page.say(
      {"A model that always looks at the same word has learnt a shortcut. Dropout takes words away at "
       "random while it trains, so it must get along with whatever is left. Each number is set to 0 with "
       "probability p, and the others are multiplied by 1/(1 - p), so that the average stays what it was.",
       "一个模型如果总盯着同一个词，那是学到了捷径。训练时，dropout 随机拿走一些词，让它学会靠剩下的词也"
       "行。每个数以概率 p 变成 0，其余的乘以 1/(1 - p)，这样平均值不变。"});
  const std::uint64_t seed = page.seed_or(123);
  Generator rng(seed);
  DropoutStream stream = DropoutStream::torch(rng);  // the masks that PyTorch draws for this seed
  const Variable ones_66(ones({6, 6}));
  const Tensor dropped = dropout(ones_66, stream.next({6, 6}, 0.5)).value();
  page.matrix(Text{"dropout of a 6 x 6 of ones, p = 0.5, kept ones are 1/(1 - 0.5) = 2",
                   "对 6 x 6 的全 1 矩阵做 dropout，p = 0.5，留下的 1 变成 1/(1 - 0.5) = 2"},
              dropped);
  page.value(Text{"mean", "平均值"}, mean(dropped).item());
  page.say({"The mean of 36 numbers is not exactly 1, but over many draws it comes close:",
            "36 个数的平均值不会正好是 1，但多抽几次就是了："});
  Generator many(seed);
  DropoutStream masks = DropoutStream::torch(many);
  double total = 0;
  for (int draw = 1; draw <= 10000; ++draw) {
    total += mean(dropout(ones_66, masks.next({6, 6}, 0.5)).value()).item();
    if (draw == 1 || draw == 100 || draw == 10000)
      page.line("  {:>5} {} {:.4f}", draw, page.chinese() ? "次：平均值" : "draws: mean", total / draw);
  }

  page.heading({"On attention weights", "用在注意力权重上"});
  page.say(
      {"GPT applies it to the causal weights (here those of the last lesson, seed 789), after softmax. A "
       "word then misses some of the words it wanted to see, and sees the others twice as strongly.",
       "GPT 把它用在 softmax 之后的因果权重上（这里用上一课的权重，种子 789）。于是一个词看不到它想看的某"
       "些词，而看到的那些则加倍。"});
  Generator start(page.seed_or(789));
  const SelfAttentionV2 layer(3, 2, false, start);
  const Variable x(example_words());
  const Variable q = layer.W_query.forward(x), k = layer.W_key.forward(x), v = layer.W_value.forward(x);
  const Attention plain = scaled_dot_product_attention(q, k, v, {.causal = true});
  page.matrix(Text{"causal weights", "因果权重"}, plain.weights.value());
  rng.seed(seed);
  const DropoutMask mask = stream.next({6, 6}, 0.5);
  const Tensor thinned = dropout(plain.weights, mask).value();
  page.matrix(Text{"after dropout, p = 0.5", "dropout 之后，p = 0.5"}, thinned);
  page.matrix(Text{"row sums", "每行之和"}, sum(thinned, {-1}));
  page.say(
      {"Rows do not add up to 1 any more. That is wanted: dividing again would undo the scaling, and the "
       "average would be wrong. A row can even be all zero: that word hears nothing this time.",
       "每行的和不再是 1。这正是想要的：如果再除一次，就抵消了放大，平均值反而错了。有的行甚至全是 0：这"
       "个词这一次什么也没听到。"});
  page.matrix(Text{"context vectors with dropout", "带 dropout 的上下文向量"},
              scaled_dot_product_attention(q, k, v, {.dropout = mask, .causal = true}).out.value());
  page.matrix(Text{"context vectors without (evaluation, generation)", "不带 dropout 的（评估和生成时）"},
              plain.out.value());
  page.say({"Once training is over nothing is dropped, and nothing needs to be scaled.",
            "训练结束后什么都不丢，也就什么都不用放大。"});

  page.exercise({"By what are the kept numbers multiplied for p = 0.1?", "p = 0.1 时，留下的数乘以多少？"},
                {"1/(1 - 0.1) = 1.1111", "1/(1 - 0.1) = 1.1111"}, 1.1111,
                max(dropout(ones_66, stream.next({6, 6}, 0.1)).value()).item());
  page.exercise({"How many of the 36 ones above were kept?", "上面的 36 个 1 留下了几个？"},
                {"21, so the mean is 42/36 = 1.1667", "21 个，所以平均值是 42/36 = 1.1667"}, 21,
                sum(dropped).item() / 2);
}

}  // namespace minigpt::lessons
