#include <cmath>

#include "autograd/ops.h"
#include "nn/init.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void trainable_attention(Page& page) {
  page.heading({"Attention that can learn: queries, keys, values", "会学习的注意力：查询、键、值"});
  page.say(
      {"In the last lesson similar words looked at each other, and nothing could change that. But \"cat\" "
       "may want to look at \"sat\", which is not similar at all. So each word gets three roles, each "
       "made from its vector by a matrix that training can change:",
       "上一课里，谁像谁就看谁，这一点无法改变。可是 cat 也许更想看 sat，而这两个词一点也不像。于是每个词"
       "有了三个角色，每个角色由词向量乘一个可以训练的矩阵得到："});
  page.line({"  query  q = x W_query   what I look for", "  查询 query  q = x W_query   我在找什么"});
  page.line(
      {"  key    k = x W_key     what I can be found by", "  键   key    k = x W_key     凭什么能找到我"});
  page.line({"  value  v = x W_value   what I hand over when found",
             "  值   value  v = x W_value   找到我之后我给出什么"});

  const std::uint64_t seed = page.seed_or(123);
  page.say(
      {"Six words of 3 numbers; queries, keys and values get 2. The matrices start at random (seed {}, "
       "uniform between 0 and 1), because nothing has been learnt yet.",
       "六个词，每个 3 个数；查询、键和值各 2 个数。矩阵一开始是随机的（种子 {}，在 0 和 1 之间均匀取值），"
       "因为还什么都没学。"},
      seed);
  const Variable x(example_words());
  Generator rng(seed);
  Variable W_query(zeros({3, 2}), true), W_key(zeros({3, 2}), true), W_value(zeros({3, 2}), true);
  for (Variable* w : {&W_query, &W_key, &W_value}) init::uniform_(*w, 0, 1, rng);
  page.matrix("W_query", W_query.value());
  page.matrix("W_key", W_key.value());
  page.matrix("W_value", W_value.value());

  page.heading({"1. One word asks", "第一步：一个词提问"});
  const Variable query_2 = matmul(select(x, 0, 1), W_query);  // (3) x (3, 2) -> (2)
  page.matrix(Text{"q of word 2, journey = x_2 W_query", "第 2 个词 journey 的查询 q = x_2 W_query"},
              query_2.value());
  const Variable keys = matmul(x, W_key), values = matmul(x, W_value);  // (6, 3) x (3, 2) -> (6, 2)
  page.matrix(Text{"keys = x W_key", "键 = x W_key"}, keys.value());
  page.matrix(Text{"values = x W_value", "值 = x W_value"}, values.value());

  page.heading({"2. Scores, divided by the square root of the width", "第二步：分数，再除以宽度的平方根"});
  page.say(
      {"As before, a score is a dot product, now of the query with each key. A sum of many products is "
       "large, and softmax of large numbers picks one word and ignores the rest. Dividing by sqrt(d_k), "
       "here sqrt(2) = 1.4142, keeps the scores in a moderate range, however wide keys are (lesson "
       "scaling measures it).",
       "分数仍是点积，只不过现在是查询和每个键的点积。很多乘积加起来会很大，而 softmax 遇到大数就只选一个"
       "词、不理其余的词。除以 sqrt(d_k)（这里是 sqrt(2) = 1.4142），不管键有多宽，分数都保持在适中的范围"
       "里（scaling 一课有测量）。"});
  const Variable scores_2 = matmul(keys, query_2);  // (6, 2) x (2) -> (6)
  page.matrix(Text{"scores of word 2", "第 2 个词的分数"}, scores_2.value());
  const Variable weights_2 = softmax(scores_2 / std::sqrt(2.0));
  page.matrix(
      Text{"weights of word 2 = softmax(scores / sqrt(2))", "第 2 个词的权重 = softmax(分数 / sqrt(2))"},
      weights_2.value());

  page.heading({"3. The answer is made of values", "第三步：答案由值组成"});
  const Variable context_2 = matmul(weights_2, values);  // (6) x (6, 2) -> (2)
  page.matrix(Text{"context vector of word 2 = weights x values", "第 2 个词的上下文向量 = 权重 x 值"},
              context_2.value());

  page.heading({"4. All words at once", "第四步：所有词一起算"});
  page.line("  Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V");
  const auto weights_of = [&] {  // (6, 6)
    return softmax(matmul(matmul(x, W_query), transpose(matmul(x, W_key))) / std::sqrt(2.0));
  };
  const Variable weights = weights_of();
  page.heat_map(Text{"weights of all words", "所有词的权重"}, weights.value(), example_tokens(),
                example_tokens());
  const Variable context = matmul(weights, matmul(x, W_value));
  page.matrix(Text{"context = weights x values", "上下文 = 权重 x 值"}, context.value());

  page.heading({"5. What \"trainable\" means", "第五步：“可训练”是什么意思"});
  page.say(
      {"Say word 2 ought to look at word 6, step. The loss is -log of that weight: 0 if all attention "
       "goes there. Its gradient says how each number of W_query and W_key should change, and we change "
       "them a little, 200 times. W_value gets no gradient: it decides what is handed over, not who is "
       "looked at.",
       "假设第 2 个词应该去看第 6 个词 step。损失取这个权重的 -log：注意力全在那里时损失为 0。它的梯度告"
       "诉我们 W_query 和 W_key 里每个数该往哪边变，我们每次变一点点，重复 200 次。W_value 没有梯度：它决"
       "定交出什么，不决定看谁。"});
  const double before = weights.value().at({1, 5});
  for (int step = 0; step <= 200; ++step) {
    const Variable loss = -log(select(select(weights_of(), 0, 1), 0, 5));  // row of word 2, column of word 6
    if (step % 50 == 0)
      page.line("  step {:>3}: loss {:.4f}, w(2, 6) = {:.4f}", step, loss.item(), std::exp(-loss.item()));
    loss.backward();
    for (Variable* w : {&W_query, &W_key}) {
      const Tensor change = w->grad().value() * -1.0;
      w->mutable_value().copy_(w->value() + change);
      w->zero_grad();
    }
  }
  const Tensor after = weights_of().value();
  page.heat_map(Text{"weights after training", "训练之后的权重"}, after, example_tokens(), example_tokens());
  page.say({"The weight grew from {:.4f} to {:.4f}. The other words' rows moved too: all six share the "
            "same matrices.",
            "这个权重从 {:.4f} 涨到了 {:.4f}。其他词的行也跟着变了：六个词共用同样的矩阵。"},
           before, after.at({1, 5}));

  page.exercise({"How many numbers does this attention learn, if words have 3 numbers and queries, keys "
                 "and values have 2?",
                 "如果词向量有 3 个数，查询、键和值各有 2 个数，这个注意力要学多少个数？"},
                {"three matrices of 3 x 2: 18", "三个 3 x 2 的矩阵：18 个"}, 18,
                static_cast<double>(W_query.numel() + W_key.numel() + W_value.numel()));
  page.exercise({"What would word 2's largest weight have been without the division by sqrt(2)?",
                 "如果不除以 sqrt(2)，第 2 个词最大的权重会是多少？"},
                {"0.2507 in place of 0.2264: undivided scores are further apart",
                 "0.2507，而不是 0.2264：不除的话，分数之间的差距更大"},
                0.2507, max(softmax(scores_2.value())).item());
  page.exercise({"Word 2 was trained to look at word 6. How much does word 1 look at it now?",
                 "我们训练的是第 2 个词去看第 6 个词。现在第 1 个词看它有多少？"},
                {"0.9827, nearly as much: the matrices are shared", "0.9827，差不多一样多：矩阵是共用的"},
                0.9827, after.at({0, 5}));
}

}  // namespace minigpt::lessons
