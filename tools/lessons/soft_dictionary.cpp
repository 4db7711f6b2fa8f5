#include <cmath>

#include "autograd/ops/matmul.h"
#include "autograd/ops/mul.h"
#include "autograd/ops/select.h"
#include "autograd/ops/softmax.h"
#include "tensor/arithmetic.h"
#include "tensor/generator.h"
#include "tensor/reduce.h"
#include "tensor/views.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// value = softmax(keys query / temperature) values        keys: (N, D), query: (D), values: (N, E)  ->  (E)
Variable look_up(const Variable& query, const Tensor& keys, const Tensor& values, double temperature) {
  const Variable scores = matmul(Variable(keys), query) * (1 / temperature);
  return matmul(softmax(scores), Variable(values));
}

Tensor weights_of(const Tensor& query, const Tensor& keys, double temperature) {
  return softmax(matmul(keys, query) / temperature);
}

}  // namespace

void soft_dictionary(Page& page) {
  page.heading({"Query, key, value: a dictionary that is not strict", "查询、键、值：一部不那么死板的字典"});
  page.say(
      {"A Python dictionary holds pairs of key and value. You come with a query; if some key equals it, you "
       "get its value, and a KeyError "
       "otherwise. Attention is the same with three changes: keys and queries are vectors, \"equals\" "
       "becomes \"points in a similar "
       "direction\", and you get a mixture of all values, mostly of those whose keys fit.",
       "Python 的字典里存着一对对键和值。你带着一个查询来：有相等的键就拿到它的值，没有就是 "
       "KeyError。注意力是同样的事，只改三点："
       "键和查询都是向量；“相等”变成“方向相近”；拿到的是所有值的混合，键越合适，它的值占得越多。"});
  page.say(
      {"Keys say where to find a thing: how animal-like, how large. Values say what it is: legs, wheels, "
       "weight in tonnes.",
       "键说的是怎么找到一样东西：像不像动物、大不大。值说的是它是什么：几条腿、几个轮子、重多少吨。"});
  const std::vector<std::string> names = {"cat", "dog", "car", "bus"};
  const Tensor keys = Tensor::from<double>({1.0, -0.8, 1.0, -0.2, -1.0, 0.2, -1.0, 1.0}, {4, 2});
  const Tensor values = Tensor::from<double>({4, 0, 0.004, 4, 0, 0.03, 0, 4, 1.2, 0, 4, 11}, {4, 3});
  page.matrix(Text{"keys (cat, dog, car, bus)", "键（cat 猫、dog 狗、car 轿车、bus 公交车）"}, keys);
  page.matrix(Text{"values (legs, wheels, tonnes)", "值（腿、轮子、吨）"}, values);

  page.heading({"1. Hard look-up", "第一步：死板的查找"});
  Tensor query = Tensor::from<double>({0.9, -0.6}, {2});
  if (page.seed()) {
    Generator rng(*page.seed());
    rng.normal(std::span(query.mutable_data<double>(), 2));
    page.say({"The query is drawn at random with your seed.", "查询按你给的种子随机抽取。"});
  } else {
    page.say(
        {"The query: a kitten, animal-like and small. No key equals it, so a strict dictionary has no "
         "answer. The next best thing is the "
         "key with the largest dot product.",
         "查询：一只小猫，像动物，又小。没有哪个键和它相等，死板的字典答不上来。退一步，可以取点积最大的那个"
         "键。"});
  }
  page.matrix("query", query);
  const Tensor scores = minigpt::matmul(keys, query);
  page.matrix("scores = keys query", scores);
  const auto best = static_cast<std::int64_t>(argmax(scores).item());
  page.line("  {}: {}", page.chinese() ? "最合适的键" : "best key", names[static_cast<std::size_t>(best)]);
  page.matrix(Text{"its value", "它的值"}, select(values, 0, best));

  page.heading({"2. Soft look-up", "第二步：柔和的查找"});
  page.say(
      {"Softmax turns the scores into weights, and the answer is the mean of all values with these weights. "
       "Dividing the scores by a "
       "temperature first says how strict to be. One row per temperature: 100, 1, 0.1, 0.001.",
       "softmax "
       "把分数变成权重，答案就是所有值按权重的平均。先把分数除以一个“温度”，温度决定有多严格。每行一个温度：1"
       "00、1、0.1、0.001。"});
  const double temperatures[] = {100, 1, 0.1, 0.001};
  Tensor weights = Tensor::empty({4, 4}, DType::f64), answers = Tensor::empty({4, 3}, DType::f64);
  for (std::int64_t i = 0; i < 4; ++i) {
    select(weights, 0, i).copy_(weights_of(query, keys, temperatures[i]));
    select(answers, 0, i).copy_(look_up(Variable(query), keys, values, temperatures[i]).value());
  }
  page.heat_map(Text{"weights", "权重"}, weights, {"T=100", "T=1", "T=0.1", "T=0.001"}, names);
  page.matrix(Text{"answers (legs, wheels, tonnes)", "答案（腿、轮子、吨）"}, answers);
  page.say(
      {"At a high temperature everything counts alike: the answer is the plain mean of the values. At a low "
       "one the best key takes all: hard "
       "look-up is the limit of soft look-up.",
       "温度很高时人人有份，答案就是所有值的平均；温度很低时赢家通吃——死板的查找正是柔和查找的极限。"});
  page.matrix(Text{"mean of the values", "所有值的平均"}, mean(values, {0}));
  page.value(Text{"largest difference from hard look-up, T = 0.001", "与死板查找的最大差别，T = 0.001"},
             max(abs(select(answers, 0, 3) - select(values, 0, best))).item());

  page.heading({"3. Why soft?", "第三步：为什么要柔和？"});
  page.say(
      {"Because it has a gradient. The number of legs in the answer changes smoothly when the query moves, "
       "so training can move the query (and "
       "keys, and values) to get better answers. A hard look-up gives the same answer until it jumps: "
       "gradient 0, nothing to learn from.",
       "因为这样才有梯度。查询稍稍移动，答案里的腿数就平滑地变化，训练才能挪动查询（以及键和值）来得到更好的"
       "答案。"
       "死板的查找要么不变，要么突变：梯度为 0，无从学起。"});
  const auto slope = [&](double temperature) {
    Variable q(query, true);
    select(look_up(q, keys, values, temperature), 0, 0).backward();
    return q.grad().value();
  };
  page.matrix(Text{"d legs / d query, T = 1", "d 腿 / d 查询，T = 1"}, slope(1));
  page.matrix(Text{"d legs / d query, T = 0.001", "d 腿 / d 查询，T = 0.001"}, slope(0.001));
  page.say(
      {"In a transformer every word is all three: it asks (query), it is found (key), and it answers "
       "(value). The three vectors come from the "
       "word's vector by three learnt matrices, the temperature is sqrt(D), and each head is a dictionary of "
       "its own.",
       "在 transformer "
       "里，每个词身兼三职：它提问（query），它被找到（key），它作答（value）。这三个向量由词向量乘上三个学来"
       "的矩阵得到，"
       "温度是 sqrt(D)，每个头各是一部字典。"});

  page.exercise(
      {"What weight does each key get for the query (0, 0)?", "查询为 (0, 0) 时，每个键的权重是多少？"},
      {"all scores are 0: 1/4 = 0.25", "分数全是 0：各 1/4 = 0.25"}, 0.25,
      weights_of(zeros({2}, DType::f64), keys, 1).at({3}));
  page.exercise({"Two keys have scores 1 and 0. At which temperature does the first get three quarters?",
                 "两个键的分数是 1 和 0。温度为多少时，第一个得到四分之三？"},
                {"e^(1/T) = 3: T = 1 / ln 3 = 0.9102", "e^(1/T) = 3：T = 1 / ln 3 = 0.9102"}, 0.9102,
                1 / std::log(3.0));
  page.exercise(
      {"How many legs does the answer have when only cat and dog are found, whatever their weights?",
       "如果只找到 cat 和 dog，不论权重如何，答案有几条腿？"},
      {"a mean of 4 and 4 is 4: weights add up to 1", "4 和 4 的平均还是 4：权重之和为 1"}, 4,
      0.3 * 4 + 0.7 * 4);
}

}  // namespace minigpt::lessons
