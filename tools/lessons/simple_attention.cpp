#include "tensor/arithmetic.h"
#include "tensor/matmul.h"
#include "tensor/reduce.h"
#include "tensor/rows.h"
#include "tensor/views.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void simple_attention(Page& page) {
  page.heading({"Attention with nothing to learn", "没有参数的注意力"});
  page.say(
      {"A word means something only beside other words. Attention gives every word a new vector, its context "
       "vector: a "
       "weighted mean of the vectors of all words. The whole question is which weights to take. Here is the "
       "simplest "
       "answer, without anything that could be learnt.",
       "一个词的意思离不开它周围的词。注意力给每个词算出一个新的向量，叫作上下文向量：它是所有词向量的加权平"
       "均。"
       "问题只有一个：权重怎么取？下面是最简单的做法，里面没有任何需要学习的东西。"});
  page.say({"Six words, each a vector of three made-up numbers. Rows are words.",
            "六个词，每个词是三个随手写下的数。一行就是一个词。"});
  const Tensor x = example_words();
  page.matrix("x = Your journey starts with one step", x);

  page.heading({"1. Scores: how alike are two words?", "第一步：分数——两个词有多像？"});
  page.say(
      {"The dot product multiplies two vectors number by number and adds the products up. It is large where "
       "both vectors "
       "point the same way. We ask for word 2, journey: its vector is the query, and it is multiplied with "
       "every word.",
       "点积把两个向量逐个相乘再求和；两个向量方向越接近，点积越大。我们站在第 2 个词 journey 的角度提问："
       "它的向量就是“查询”（query），拿它和每一个词做点积。"});
  const Tensor query = select(x, 0, 1);      // (3)
  const Tensor scores_2 = matmul(x, query);  // (6, 3) x (3) -> (6)
  page.matrix(Text{"scores of word 2", "第 2 个词的分数"}, scores_2);

  page.heading({"2. Weights: positive numbers that add up to 1", "第二步：权重——都是正数，加起来等于 1"});
  page.say(
      {"Dividing the scores by their sum would do, but fails for negative ones. Softmax takes e^score first, "
       "which is always "
       "positive, and then divides by the sum.",
       "直接用分数除以总和也能得到权重，但分数为负时就不行了。softmax 先取 e "
       "的分数次方（永远为正），再除以总和。"});
  page.matrix(Text{"scores / sum", "分数 / 总和"}, scores_2 / sum(scores_2, {-1}, true));
  const Tensor weights_2 = softmax(scores_2);
  page.matrix("softmax(scores)", weights_2);
  page.value(Text{"sum of the weights", "权重之和"}, sum(weights_2).item());

  page.heading({"3. Context: the weighted mean", "第三步：上下文——加权平均"});
  page.say(
      {"Each word's vector times its weight, all added up: one row of weights times the matrix of words.",
       "每个词向量乘上自己的权重，再全部相加：也就是一行权重乘以词向量矩阵。"});
  const Tensor context_2 = matmul(weights_2, x);  // (6) x (6, 3) -> (3)
  page.matrix(Text{"context vector of word 2", "第 2 个词的上下文向量"}, context_2);

  page.heading({"4. All words at once", "第四步：所有词一起算"});
  page.say(
      {"Nothing in this needed a loop. All scores are one matrix product x x^T, softmax works row by row, "
       "and all context "
       "vectors are one more product. Row i says how much word i looks at each word; every row adds up to 1.",
       "以上步骤都不需要循环。所有分数就是一次矩阵乘法 x x^T，softmax "
       "逐行进行，所有上下文向量再做一次乘法即可。"
       "第 i 行说的是第 i 个词对每个词各看多少；每一行的和都是 1。"});
  const Tensor scores = matmul(x, transpose(x));  // (6, 3) x (3, 6) -> (6, 6)
  page.matrix("scores = x x^T", scores);
  const Tensor weights = softmax(scores);  // (6, 6), each row sums to 1
  page.heat_map("weights = softmax(scores)", weights, example_tokens(), example_tokens());
  page.matrix(Text{"row sums", "每行之和"}, sum(weights, {-1}));
  const Tensor context = matmul(weights, x);  // (6, 6) x (6, 3) -> (6, 3)
  page.matrix("context = weights x", context);
  page.say(
      {"Row 2 is the vector from above. The scores are symmetric (word 2 is as like word 3 as word 3 is like "
       "word 2), "
       "the weights are not: each row is divided by a sum of its own.",
       "第 2 行正是上面算出的向量。分数矩阵是对称的（第 2 个词像第 3 个词，和反过来一样像），权重却不对称："
       "每一行除以的是它自己的总和。"});

  page.exercise({"Which word does \"Your\" look at most, and with what weight?",
                 "Your 看得最多的是哪个词？权重是多少？"},
                {"itself, row 1 column 1: 0.2098", "它自己，第 1 行第 1 列：0.2098"}, 0.2098,
                weights.at({0, 0}));
  page.exercise({"Multiply all word vectors by 10. What is the weight of word 2 on itself, and why?",
                 "把所有词向量乘以 10，第 2 个词对自己的权重变成多少？为什么？"},
                {"0.8765: scores grow a hundredfold, so softmax almost picks the largest one. See the lesson "
                 "on scaling.",
                 "0.8765：分数变成原来的一百倍，softmax 几乎只选最大的那个。参见讲缩放的一课。"},
                0.8765, softmax(scores * 100).at({1, 1}));
  page.exercise(
      {"What are the weights if all words have the same vector?", "如果六个词的向量完全相同，权重是多少？"},
      {"1/6 = 0.1667 each: equal scores, equal weights", "每个都是 1/6 = 0.1667：分数相同，权重相同"}, 0.1667,
      softmax(zeros({6})).at({0}));
}

}  // namespace minigpt::lessons
