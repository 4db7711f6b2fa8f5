#include "models/encoder_decoder.h"

#include <set>

#include "nn/optim/adam.h"
#include "nn/schedule.h"
#include "tensor/reduce.h"
#include "tensor/views.h"
#include "tools/bench/clock.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/spelling.h"

namespace minigpt::lessons {
namespace {

struct Task {
  std::int64_t letters = 26, shortest = 3, longest = 8;
  std::int64_t steps = 1200, batch = 64;
};

// The share of words that come out right in every letter, the end included.
double exact_matches(const EncoderDecoder& model, const std::vector<Word>& words) {
  const std::vector<Word> written = model.greedy(words, model.config.longest - 1), wanted = backwards(words);
  double right = 0;
  for (std::size_t i = 0; i < words.size(); ++i) right += written[i] == wanted[i] ? 1 : 0;
  return right / static_cast<double>(words.size());
}

// Who reads which letter while `word` is written: weights of the cross-attention (T, S), mean of its heads. What the
// (only) decoder layer does before it comes first.
Tensor letters_read(const EncoderDecoder& model, const Word& word) {
  const NoGrad no_grad;
  const PaddedBatch source = pad_sequences(std::vector<Word>{word}),
                    target = pad_sequences(std::vector<Word>{backwards(word)}, kStartId);
  const Variable memory = model.encode(source),
                 x = model.positions.forward(model.target_embedding.forward(target.ids));
  const TransformerDecoderLayer& layer = model.decoder.layers[0];
  const Variable normed = layer.norm1.forward(x),
                 y = x + layer.self_attn.forward(normed, normed, normed, {.causal = true}).out;
  return select(layer.multihead_attn.forward(layer.norm2.forward(y), memory, memory).weights.value(), 0, 0);
}

}  // namespace

void encoder_decoder(Page& page) {
  const Task task = page.quick() ? Task{10, 3, 5, 400, 32} : Task{};
  page.heading(
      {"Encoder and decoder: one sequence in, another one out", "编码器与解码器：一个序列进，另一个序列出"});
  page.say(
      {"A GPT continues a text. To turn one text into another (translation was the first use of "
       "transformers), "
       "two stacks share the work. The encoder reads the whole source, every word looking at every other: no "
       "causal "
       "mask. The decoder writes the target from left to right: it looks back at what it has written (causal "
       "self-attention) and across at what the encoder made of the source (cross-attention, lesson "
       "cross-attention).",
       "GPT 是把一段文字接着写下去。要把一段文字变成另一段（transformer "
       "最早就是用来翻译的），就由两摞层分工。"
       "编码器读完整个源序列，每个词都能看到其他所有词，没有因果掩码。解码器从左到右写目标序列：往回看自己写"
       "过的（因果自注意力），"
       "再横着看编码器对源序列的理解（交叉注意力，见 cross-attention 一课）。"});
  page.say({"The task here is small enough to learn while you wait: write a word of {} to {} letters "
            "backwards. Nothing "
            "in the model knows what \"backwards\" is; it sees pairs of words.",
            "这里的任务很小，等一会儿就能学会：把 {} 到 {} "
            "个字母的单词倒着写。模型里没有任何关于“倒着”的知识，它只看到一对对单词。"},
           task.shortest, task.longest);

  page.heading({"1. Words of unequal length in one batch", "第一步：长短不一的词放进同一个批次"});
  page.say(
      {"Letters have ids from {} on. Id 0 fills up short words (padding), 1 starts the decoder, 2 is the end "
       "mark. "
       "From \"bee\" and \"abacus\":",
       "字母的编号从 {} 开始。编号 0 用来填充短词，1 让解码器开始，2 是结束标记。以 bee 和 abacus 为例："},
      kFirstSymbol);
  const std::vector<Word> examples = {word_of("bee"), word_of("abacus")};
  const PaddedBatch padded = pad_sequences(examples);
  page.matrix(Text{"source", "源序列 source"}, padded.ids);
  page.matrix(Text{"hidden (1 = padding, nobody may look)", "hidden（1 = 填充，谁也不许看）"},
              padded.hidden().to(DType::i32));
  page.matrix(Text{"given to the decoder", "给解码器的输入"},
              pad_sequences(backwards(examples), kStartId).ids);
  page.matrix(Text{"to be written", "应当写出的"}, pad_sequences(backwards(examples), kPadId, kEndId).ids);
  page.say(
      {"The last two are the same letters, shifted by one. That is teacher forcing: at every position the "
       "decoder is "
       "given the right beginning, whatever it would have written itself, so all positions learn at once. "
       "Targets "
       "that are padding are left out of the loss.",
       "最后两个矩阵是同样的字母，错开一位。这叫教师强制：在每个位置上，不管解码器自己会写什么，都给它正确的"
       "开头，"
       "这样所有位置可以同时学习。填充的位置不计入损失。"});

  page.heading({"2. Training", "第二步：训练"});
  EncoderDecoderConfig config;
  config.source_vocab = config.target_vocab = kFirstSymbol + task.letters;
  config.longest = 16;
  config.n_layer = 1;
  Generator rng(page.seed_or(2017));
  EncoderDecoder model(config, rng);
  page.say(
      {"One encoder layer, one decoder layer, {} channels, {} heads: {} parameters. Each step draws {} "
       "random words "
       "and corrects the weights once.",
       "一层编码器、一层解码器，{} 个通道，{} 个头，共 {} 个参数。每一步随机抽 {} 个词，把权重修正一次。"},
      config.d_model, config.n_head, parameter_count(model.parameters()), task.batch);
  const std::vector<NamedParameter> parameters = model.parameters();
  Adam optimizer({{parameters, 3e-3, 0}}, {0.9, 0.98, 1e-8, true});
  const Schedule rate = {Schedule::Kind::wsd, 3e-3, 0, 50, task.steps, task.steps / 2};
  const Word shown = word_of(page.quick() ? "bead" : "planet");
  std::set<Word> seen;
  std::int64_t next_report = 25;  // ever less often
  const double start = tools::now();
  for (std::int64_t step = 0; step < task.steps; ++step) {
    std::vector<Word> words;
    for (std::int64_t i = 0; i < task.batch; ++i)
      words.push_back(random_word(task.letters, task.shortest, task.longest, rng));
    seen.insert(words.begin(), words.end());
    const Variable loss = model.loss(words, backwards(words));
    optimizer.zero_grad();
    loss.backward();
    optimizer.set_learning_rate(rate.at(step));
    optimizer.step(clip_factor(grad_norm(parameters), 1));
    const std::int64_t done = step + 1;
    if (done != 1 && done != next_report && done != task.steps) continue;
    if (done == next_report) next_report *= 2;
    page.line("  step {:>5}  loss {:.4f}   {} -> {}", done, loss.item(), spelt(shown),
              spelt(model.greedy(std::vector<Word>{shown}, task.longest)[0]));
  }
  page.say({"{:.0f} seconds.", "用时 {:.0f} 秒。"}, tools::now() - start);

  page.heading({"3. The exam", "第三步：考试"});
  std::vector<Word> unseen, longer;
  while (unseen.size() < 2000) {
    Word word = random_word(task.letters, task.shortest, task.longest, rng);
    if (!seen.contains(word)) unseen.push_back(std::move(word));
  }
  for (int i = 0; i < 200; ++i)
    longer.push_back(random_word(task.letters, task.longest + 2, task.longest + 2, rng));
  page.say(
      {"2000 random words that were in no batch. Now the decoder gets nothing but its own letters: the "
       "likeliest one "
       "next, until it writes the end mark. A word counts only if every letter is right, and the end.",
       "2000 "
       "个没在任何批次里出现过的随机单词。这次解码器只能看到自己写出的字母：每次取可能性最大的，直到写出结束"
       "标记。"
       "每个字母都对、结束得也对，才算对。"});
  page.line("  {}: {:.2f} %", page.chinese() ? "完全正确" : "exact match",
            100 * exact_matches(model, unseen));
  page.line("  {}: {:.2f} %",
            page.chinese() ? "比训练时长两个字母的词" : "words two letters longer than any in training",
            100 * exact_matches(model, longer));
  page.say({"The second figure is as it should be: positions beyond {} were never seen, and nothing told the "
            "model what "
            "they mean. A transformer learns what it is shown, not the rule that we have in mind.",
            "第二个数字并不奇怪：模型从没见过第 {} 个以后的位置，没人告诉它那是什么意思。transformer "
            "学到的是给它看的东西，"
            "不是我们心里想的规则。"},
           task.longest);

  page.heading({"4. What the decoder reads", "第四步：解码器在读什么"});
  std::vector<std::string> rows, columns;
  for (const std::int32_t id : shown) columns.push_back(spelt({id}));
  rows.assign(columns.rbegin(), columns.rend());
  rows.emplace_back("<end>");
  page.heat_map(Text{"cross-attention", "交叉注意力"}, letters_read(model, shown), rows, columns);
  page.say(
      {"Each row is the moment before a letter is written, each column a letter of the source; weights are "
       "the mean of "
       "the heads. The dark line from top right to bottom left is the rule, found from examples alone: to "
       "write "
       "letter t, read letter S - 1 - t.",
       "每一行是写出一个字母之前的那一刻，每一列是源单词的一个字母；权重取各个头的平均。从右上到左下的深色斜"
       "线就是那条规则，"
       "完全从例子里学来：要写第 t 个字母，就去读第 S - 1 - t 个字母。"});

  page.exercise({"What loss does a model have that gives all 29 ids the same probability?",
                 "如果模型给全部 29 个编号相同的概率，损失是多少？"},
                {"ln 29 = 3.3673", "ln 29 = 3.3673"}, 3.3673, std::log(29.0));
  page.exercise({"Words of 3, 5 and 8 letters share a batch. Which share of the source is padding?",
                 "3、5、8 个字母的词在同一个批次里，源序列中填充占多少？"},
                {"8 of 24 places: 0.3333", "24 个位置中有 8 个：0.3333"}, 0.3333, [] {
                  const PaddedBatch b = pad_sequences(std::vector<Word>{Word(3, 5), Word(5, 5), Word(8, 5)});
                  return mean(b.hidden().to(DType::f64)).item();
                }());
  page.exercise({"If each symbol is right with probability 0.999, how often is a word of 8 letters, with its "
                 "end, right?",
                 "如果每个符号写对的概率是 0.999，8 个字母的词（连同结束标记）全对的概率是多少？"},
                {"0.999^9 = 0.9910", "0.999^9 = 0.9910"}, 0.9910, std::pow(0.999, 9));
}

}  // namespace minigpt::lessons
