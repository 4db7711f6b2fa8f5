#include "nn/attention/causal_attention.h"

#include "autograd/ops.h"
#include "nn/dropout_stream.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

void causal_attention(Page& page) {
  page.heading({"Causal attention for a batch of texts", "对一批文本做因果注意力"});
  page.say(
      {"All the parts are there: projections, scores, mask, softmax, dropout. "
       "nn/attention/causal_attention.h puts them into one class, and takes a batch: several texts at "
       "once, one more axis in front. Here the six words twice.",
       "零件都齐了：投影、分数、掩码、softmax、dropout。nn/attention/causal_attention.h 把它们装进一个类，"
       "而且一次处理一批文本：前面多一个轴。这里把六个词放两遍。"});
  const Tensor words = example_words();
  const Variable batch(stack({words, words}));
  page.line("  x {}   B, T, C", batch.shape());
  Generator rng(page.seed_or(123));
  const CausalAttention attention(3, 2, 0.0, false, rng);
  const Attention a = attention.forward(batch);
  page.matrix(Text{"weights", "权重"}, a.weights.value());
  page.matrix(Text{"context vectors", "上下文向量"}, a.out.value());
  page.say({"The two texts are equal, and so are their results: texts of a batch never see each other.",
            "两条文本相同，结果也相同：同一批里的文本互相看不见。"});

  page.heading({"Is it really causal? Change the future", "真的是因果的吗？改一改未来"});
  page.say(
      {"We replace the last word, step, in the second text by three large numbers. Only its own row may "
       "change.",
       "把第二条文本的最后一个词 step 换成三个很大的数。应该只有它自己那一行会变。"});
  Tensor changed_words = words.clone();
  slice(changed_words, 0, 5, 6).fill_(9);
  const Tensor out = attention.forward(Variable(stack({words, changed_words}))).out.value();
  page.matrix(Text{"context vectors, second text", "第二条文本的上下文向量"}, select(out, 0, 1));
  const Tensor change = sum(abs(select(out, 0, 1) - select(out, 0, 0)), {-1});
  page.matrix(Text{"how much each row changed", "每一行变了多少"}, change);

  page.say(
      {"The gradient says the same: row 3 of the result depends on words 1 to 3 and on no other. A zero "
       "here is an exact zero.",
       "梯度说的也是同一件事：结果的第 3 行只依赖第 1 到第 3 个词。这里的 0 是准确的 0。"});
  Variable input(words, true);
  sum(select(attention.forward(input).out, 0, 2)).backward();
  page.matrix(Text{"gradient of row 3 with respect to each word", "第 3 行对每个词的梯度"},
              input.grad().value());

  page.heading({"In training: dropout on the weights", "训练时：权重上的 dropout"});
  rng.seed(page.seed_or(123));
  const CausalAttention training(3, 2, 0.5, false, rng);
  DropoutStream stream = DropoutStream::torch(rng);
  Mode mode;
  mode.training = true;
  mode.dropout = &stream;
  page.matrix(Text{"context vectors, p = 0.5", "上下文向量，p = 0.5"},
              training.forward(batch, mode).out.value());
  page.say(
      {"Now the two texts differ, because each weight of each text is dropped by itself. Where all the "
       "weights of a row are dropped, its context vector is zero.",
       "现在两条文本不一样了，因为每条文本的每个权重都各自随机丢弃。如果一行的权重全被丢掉，它的上下文向"
       "量就是 0。"});

  page.exercise(
      {"Row 1 of the result equals one of the values. Which, and what is its first number?",
       "结果的第 1 行等于某一个值向量。是哪一个？它的第一个数是多少？"},
      {"the value of word 1, the only word it sees: -0.4519", "第 1 个词的值，它只看得见自己：-0.4519"},
      -0.4519, attention.W_value.forward(batch).value().at({0, 0, 0}));
  page.exercise({"How much did row 6 change, in total?", "第 6 行一共变了多少？"},
                {"10.4154: both its numbers together", "10.4154，两个数加在一起"}, 10.4154, change.at({5}));
  page.exercise({"A text of 1024 words: what share of the weights is hidden?",
                 "一条 1024 个词的文本，被遮住的权重占多少？"},
                {"1023/2048 = 0.4995: nearly half, which a fused kernel never computes",
                 "1023/2048 = 0.4995，将近一半；融合的内核根本不去算它们"},
                0.4995, 1 - sum(tril_mask(1024, 1024).to(DType::f32)).item() / (1024.0 * 1024.0));
}

}  // namespace minigpt::lessons
