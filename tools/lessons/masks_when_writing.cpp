#include "autograd/ops.h"
#include "models/gpt.h"
#include "nn/attention/cross_attention.h"
#include "tensor/reduce.h"
#include "tools/lessons/example_words.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

double gap(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// Two layers, x = x + attention(x), with or without a mask; the result of each.
std::vector<Tensor> two_layers(const std::vector<CrossAttention>& layers, Tensor x, const Tensor& mask) {
  std::vector<Tensor> results;
  for (const CrossAttention& layer : layers) {
    x = x + layer.forward(Variable(x), Variable(x), mask).out.value();
    results.push_back(x);
  }
  return results;
}

}  // namespace

void masks_when_writing(Page& page) {
  page.heading({"Does a model that writes need the mask?", "模型写字的时候，还需要掩码吗？"});
  page.say(
      {"\"The mask is for training; when writing, later words do not exist yet.\" That is often said, and "
       "holds in one case only. Here are two layers of attention on top of each other, and six words that "
       "have been given, the prompt.",
       "“掩码是训练时用的，写的时候后面的词还不存在。”这话很常见，却只在一种情况下成立。下面把两层注意力"
       "叠起来，给它六个现成的词，也就是提示词（prompt）。"});
  Generator rng(page.seed_or(6));
  std::vector<CrossAttention> layers;
  for (int i = 0; i < 2; ++i) layers.emplace_back(3, 1, rng);
  const Tensor prompt = example_words();

  page.heading({"1. Reading the prompt without the mask: wrong", "一、读提示词时不用掩码：错"});
  const std::vector<Tensor> with = two_layers(layers, prompt, minigpt::causal_mask(6)),
                            without = two_layers(layers, prompt, Tensor());
  page.matrix(Text{"layer 1, with the mask", "第一层，有掩码"}, with[0]);
  page.matrix(Text{"layer 1, without", "第一层，没有掩码"}, without[0]);
  page.say(
      {"The last rows agree: the last word may look at everything anyway. So far the claim looks right. "
       "But the other rows differ, and in layer 2 the last word looks at those:",
       "最后一行相同：最后一个词本来就可以看所有的词。到这里，那句话似乎没错。但其他行不同，而第二层里，"
       "最后一个词看的正是那些行："});
  page.matrix(Text{"layer 2, with the mask", "第二层，有掩码"}, with[1]);
  page.matrix(Text{"layer 2, without", "第二层，没有掩码"}, without[1]);
  page.value(Text{"last row, layer 1: difference", "第一层最后一行的差别"},
             gap(select(with[0], 0, 5), select(without[0], 0, 5)));
  const double damage = gap(select(with[1], 0, 5), select(without[1], 0, 5));
  page.value(Text{"last row, layer 2: difference", "第二层最后一行的差别"}, damage);
  page.say(
      {"The next word is guessed from the last row of the last layer. From two layers on, it is guessed "
       "from the wrong numbers: numbers the model never met in training, where its earlier words could "
       "not see later ones.",
       "下一个词就是根据最后一层的最后一行来猜的。只要有两层以上，用的就是错的数：训练时前面的词看不到后"
       "面的词，模型从没见过这样的数。"});

  page.heading({"2. One word at a time, with a cache: no mask needed", "二、一次一个词，带缓存：不需要掩码"});
  page.say(
      {"Now the words arrive one by one. Each layer keeps what it was given so far, and the new word "
       "looks at all of that, without any mask. Nothing that comes later is there to be seen.",
       "现在词一个一个地来。每一层记住到目前为止收到的东西，新来的词看所有这些，不用任何掩码：后面的词确"
       "实还不存在。"});
  std::vector<Tensor> seen(2), rows;  // what each layer was given so far: its cache
  for (std::int64_t t = 0; t < 6; ++t) {
    Tensor x = slice(prompt, 0, t, t + 1);  // (1, 3): the new word
    for (std::size_t i = 0; i < 2; ++i) {
      seen[i] = seen[i].defined() ? concat({seen[i], x}) : x;
      x = x + layers[i].forward(Variable(x), Variable(seen[i])).out.value();
    }
    rows.push_back(x);
  }
  const Tensor one_by_one = concat(rows);
  page.matrix(Text{"layer 2, word by word, no mask", "第二层，逐词计算，没有掩码"}, one_by_one);
  const double agreement = gap(one_by_one, with[1]);
  page.say({"Largest difference to the masked layer 2: {}.", "和有掩码的第二层相比，最大差别是 {}。"},
           fmt::format("{:.1e}", agreement));
  check(agreement < 1e-6, "masks_when_writing", "the cache gives another result: {}", agreement);
  page.say(
      {"So: reading a prompt at once, like training, needs the mask. Writing one word with a cache does "
       "not, because the cache has the mask built in: earlier rows were made before later words came, and "
       "are never made again. Adding several words to a cache at once needs a mask again, among the new "
       "ones.",
       "结论：一次读完整段提示词，和训练一样，需要掩码；带缓存一次写一个词则不需要，因为缓存本身就相当于"
       "掩码：前面的行是在后面的词到来之前算好的，以后也不再重算。如果一次往缓存里加好几个词，新词之间仍"
       "然需要掩码。"});

  page.heading({"3. The same with this library's GPT", "三、用本库的 GPT 再看一遍"});
  GptConfig config;
  config.vocab_size = 65;
  config.n_layer = 3;
  config.n_embd = 32;
  config.block_size = 16;
  const Gpt model(config, rng);
  const Tensor tokens = Tensor::from<std::int32_t>({20, 43, 50, 50, 53, 1, 58, 46, 43, 56}, {1, 10});
  const NoGrad no_grad;
  const Tensor logits = model.forward(tokens).value();  // (1, 10, 65), causal
  KvCache cache = model.make_cache(1);
  double worst = 0;
  for (std::int64_t t = 0; t < 10; ++t) {
    const Tensor next = model.next_logits(slice(tokens, 1, t, t + 1), cache);  // (1, 65)
    worst = std::max(worst, gap(next, select(logits, 1, t)));
  }
  page.say({"Its logits for 10 tokens at once, masked, against 10 single steps with a key/value cache: "
            "the largest difference is {}.",
            "一次算 10 个词元（有掩码），和带键值缓存逐个算 10 步相比，logits 的最大差别是 {}。"},
           fmt::format("{:.1e}", worst));
  check(worst < 1e-4, "masks_when_writing", "the cached GPT gives another result: {}", worst);
  page.say(
      {"Its cache (nn/attention/kv_cache.h) keeps keys and values rather than the layers' inputs, which "
       "saves projecting them again for each new word.",
       "它的缓存（nn/attention/kv_cache.h）保存的是键和值，而不是各层的输入，这样每来一个新词不用重新投影"
       "一遍。"});

  const std::vector<Tensor> one = two_layers(layers, slice(prompt, 0, 0, 1), Tensor());
  page.exercise({"A prompt of one word, read without a mask: how wrong is the result?",
                 "提示词只有一个词，不用掩码读，结果错多少？"},
                {"by 0, not at all: there is nothing later to see", "0，一点不错：后面没有东西可看"}, 0,
                gap(one[1], slice(with[1], 0, 0, 1)));
  page.exercise({"With three layers instead of two, does the last row of layer 1 still agree?",
                 "如果是三层而不是两层，第一层的最后一行还相同吗？"},
                {"yes, layer 1 knows nothing of the layers above: difference 0",
                 "相同，第一层不知道上面有几层：差为 0"},
                0, gap(select(with[0], 0, 5), select(without[0], 0, 5)));
}

}  // namespace minigpt::lessons
