#include <algorithm>

#include "models/head_analysis.h"
#include "tensor/views.h"
#include "tools/figures/heat_map.h"
#include "tools/lessons/head_names.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/small_gpt.h"

namespace minigpt::lessons {
namespace {

// The weights of one head for a text, ready to be drawn. Rows 0 and 1 have next to no choice and therefore large weights: the
// darkest colour is for the largest weight below them.
figures::HeatMap picture_of(const Page& page, const std::vector<Tensor>& all, const HeadReport& head,
                            const std::vector<std::string>& labels) {
  figures::HeatMap map;
  map.title = fmt::format(fmt::runtime(page.pick({"head {}: {}", "第 {} 个头：{}"})), name_of(head),
                          type_of(page, head));
  page.prepare(map);
  map.weights = select(select(all[static_cast<std::size_t>(head.layer)], 0, 0), 0, head.head);  // (T, T)
  map.row_labels = map.column_labels = labels;
  map.high = 0;
  for (std::int64_t i = 2; i < map.weights.dim(0); ++i)
    for (std::int64_t j = 0; j <= i; ++j) map.high = std::max(map.high, map.weights.at({i, j}));
  return map;
}

}  // namespace

void heat_map(Page& page) {
  page.heading({"Attention as a picture", "把注意力画出来"});
  page.say(
      {"The attention weights of a text of T tokens are a T x T matrix for each head. Row i says where token "
       "i looked when the model wrote "
       "what follows it; the darker a cell, the more weight. This needs a model that has learnt something: "
       "the heads of an untrained "
       "one look everywhere alike.",
       "一段 T 个词元的文字，每个头的注意力权重是一个 T x T 的矩阵。第 i 行说的是：为了写出后面的内容，第 i "
       "个词元看了哪里；"
       "格子颜色越深，权重越大。这要用一个学到了东西的模型来看，没训练过的头看哪里都差不多。"});
  SmallGptShape shape;
  if (page.quick()) shape = {1, 2, 16, 16, 2, 2};
  const SmallGpt gpt = small_gpt(page, shape);

  const std::vector<std::int32_t> tokens = passage(gpt, 32);
  const std::vector<std::string> labels = labels_of(gpt, tokens);
  const auto T = static_cast<std::int64_t>(tokens.size());
  const std::vector<Tensor> weights =
      attention_weights(*gpt.model, Tensor::from<std::int32_t>(tokens, {1, T}));
  page.say({"The fused kernel that the model runs on never forms these weights. They are computed again from "
            "what each block was given; "
            "the model's own result does not change by a bit. {} characters of the held-out text:",
            "模型实际运行的融合内核并不会生成这些权重。这里根据每个块的输入重新算一遍，模型自己的结果一个比特"
            "也不变。取没训练过的"
            "文字里的 {} 个字符："},
           T);

  const std::vector<std::vector<std::int32_t>> texts = {tokens};
  const std::vector<HeadReport> heads = analyse_heads(*gpt.model, token_kinds(gpt.tokenizer), texts);
  const HeadReport& previous = top_by(heads, [](const HeadReport& h) { return h.scores.offset[1].lift(); });
  const HeadReport& far = top_by(heads, [](const HeadReport& h) { return h.scores.distance.value(); });
  page.heading({"The head that looks most at the previous character", "最爱看前一个字符的头"});
  page.say({"Head {} (layer.head, counted from 0): {:.3f} of its weight on the character just before, where "
            "uniform attention would have "
            "{:.3f}. Look for a dark line right under the diagonal.",
            "第 {} 个头（层.头，从 0 数起）：有 {:.3f} 的权重在前一个字符上，均匀的注意力只有 "
            "{:.3f}。请看对角线正下方的那条深色斜线。"},
           name_of(previous), previous.scores.offset[1].value(), previous.scores.offset[1].uniform());
  const auto mode = page.colour() ? figures::ColourMode::full : figures::ColourMode::none;
  page.line("{}", figures::heat_map_text(picture_of(page, weights, previous, labels), mode));

  page.heading({"The head that looks furthest back", "看得最远的头"});
  page.say({"Head {}: {:.1f} characters back on average (uniform attention: {:.1f}). Columns that are dark "
            "all the way down are characters that "
            "every later one looks at.",
            "第 {} 个头：平均往回看 {:.1f} 个字符（均匀的注意力是 "
            "{:.1f}）。一整列都深的，是后面每个字符都要看的字符。"},
           name_of(far), far.scores.distance.value(), far.scores.distance.uniform());
  page.line("{}", figures::heat_map_text(picture_of(page, weights, far, labels), mode));
  page.say(
      {"How to read it: every row adds up to 1, so a dark cell leaves little for the others. Everything "
       "above the diagonal is exactly 0: "
       "the mask hides what comes later. The first rows look darker than they mean: row 0 has only itself, "
       "row 1 two choices. And a "
       "weight says what was read, not what was done with it: see the lesson head-patterns for what happens "
       "without a head.",
       "怎么读：每一行加起来是 1，所以一格深了，别处就浅。对角线以上都恰好是 "
       "0，因为掩码遮住了后面的内容。最上面几行看起来很深，"
       "其实没什么含义：第 0 行只有自己可看，第 1 "
       "行只有两个选择。另外，权重只说明读了什么，不说明读来做什么；去掉一个头会怎样，"
       "见 head-patterns 一课。"});
  if (page.figures_wanted())
    for (const HeadReport& head : heads)
      page.figure("heat-map-" + name_of(head),
                  figures::heat_map_svg(picture_of(page, weights, head, labels)));
  else
    page.say(
        {"(--figures DIR writes every head as an SVG, in which pointing at a cell shows its exact weight.)",
         "（加上 --figures 目录，会把每个头都画成 SVG；把指针放在格子上，能看到精确的权重。）"});

  page.exercise({"What does uniform causal attention give each cell of row 3 (counted from 0)?",
                 "均匀的因果注意力，第 3 行（从 0 数起）每格是多少？"},
                {"4 characters to look at: 0.25 each", "有 4 个字符可看：每个 0.25"}, 0.25, 1.0 / 4);
  page.exercise({"What is the sum of all weights of a heat map of 32 rows?",
                 "一张 32 行的热力图，所有权重之和是多少？"},
                {"32: each row adds up to 1", "32：每一行的和都是 1"}, 32, 32 * 1.0);
}

}  // namespace minigpt::lessons
