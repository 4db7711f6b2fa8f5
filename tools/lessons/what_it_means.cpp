#include <algorithm>
#include <cmath>

#include "tensor/join.h"
#include "tensor/reduce.h"
#include "tensor/views.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/word_model.h"

namespace minigpt::lessons {
namespace {

// The row of one word: each head, and their mean, of both models.
void show_row(Page& page, const Vocabulary& words, const WordModel& both_ways, const WordModel& causal,
              const Sentence& s, const std::string& word) {
  std::vector<Tensor> rows;
  std::vector<std::string> names;
  for (const WordModel* model : {&both_ways, &causal}) {
    const Tensor row = select(model->weights(s, words), 1, place_of(s, word));  // (H, T)
    const std::string kind = model->causal ? page.pick({"causal", "因果"}) : page.pick({"both", "双向"});
    for (std::int64_t h = 0; h < row.dim(0); ++h) {
      rows.push_back(select(row, 0, h));
      names.push_back(fmt::format("{} {} {}", kind, page.pick({"head", "头"}), h));
    }
    rows.push_back(mean(row, {0}));
    names.push_back(kind + page.pick({" mean", " 平均"}));
  }
  const std::string en = word == "." ? "row of the full stop" : "row of '" + word + "'",
                    zh = word == "." ? "句号的那一行" : word + " 的那一行";
  page.heat_map(Text{en.c_str(), zh.c_str()}, stack(rows, 0), names, s.words);
}

// The whole matrices, mean of the heads.
void show_matrices(Page& page, const Vocabulary& words, const WordModel& both_ways, const WordModel& causal,
                   const Sentence& s) {
  const std::string& name = s.words[0] == "The" ? s.words[1] : s.words[0];
  for (const WordModel* model : {&both_ways, &causal}) {
    const std::string en = name + (model->causal ? " causal" : " both ways"),
                      zh = name + (model->causal ? " 因果" : " 双向");
    page.heat_map(Text{en.c_str(), zh.c_str()}, mean_of_heads(*model, s, words), s.words, s.words);
  }
}

}  // namespace

void what_it_means(Page& page) {
  page.heading({"What does \"it\" mean?", "it 指的是什么？"});
  page.say(
      {"\"The cat sat on the mat because it was comfortable.\" Which one, the cat or the mat? Texts on "
       "attention like to "
       "show how \"it\" looks at the right word, often with invented numbers. Here two small models learn "
       "it, and "
       "the numbers are theirs.",
       "“The cat sat on the mat because it was comfortable.”（猫坐在垫子上，因为它很舒服。）it 指猫还是垫子？"
       "讲注意力的文章常拿这句话演示 it "
       "如何看向正确的词，可数字往往是编的。这里让两个小模型真去学，数字都是它们自己的。"});

  page.heading({"1. Sentences, and what is asked", "第一步：句子和问题"});
  page.say(
      {"A weight answers a question, so there must be one. A pronoun is a blank over a noun: at \"it\" the "
       "model must "
       "name the noun, likewise at the reason (of what is it said?), at \"whose\", at the likeness (what is "
       "as white "
       "as snow?), and at the full stop (who is this about?). Sentences are put together at random:",
       "权重总是为回答某个问题服务的，所以先得有问题。代词就像盖在名词上的一张纸：在 it "
       "处，模型要说出那个名词；"
       "在原因处（说的是谁？）、在 whose "
       "处、在比喻处（什么像雪一样白？）、在句号处（整句说的是谁？）也一样。句子随机拼成："});
  Generator rng(page.seed_or(3));
  for (const Sentence& s : draw_sentences(4, true, rng)) {
    std::string line;
    for (std::size_t t = 0; t < s.words.size(); ++t)
      line += " " + s.words[t] + (s.answers[t].empty() ? "" : "[" + s.answers[t] + "]");
    page.line("  {}", line);
  }
  const Vocabulary words;
  page.say({"Of these {} words, those like \"comfortable\" are only ever said of places, those like "
            "\"tired\" of animals: "
            "that is all the models can know of comfort. A quarter of all pairs (cat and mat, Mary and lamb "
            "among them) "
            "is kept from training.",
            "一共 {} 个词。像 comfortable 这样的词只用来说地方，像 tired "
            "这样的只用来说动物——关于“舒服”，模型能知道的仅此而已。"
            "四分之一的组合（包括 cat 和 mat、Mary 和 lamb）不参加训练。"},
           words.size() - kFirstSymbol);

  page.heading({"2. Two models that differ in one mask", "第二步：两个模型，只差一个掩码"});
  WordModel both_ways(words.size(), /*causal=*/false, rng), causal(words.size(), /*causal=*/true, rng);
  const std::int64_t steps = page.quick() ? 600 : 1200;
  page.say({"Both are one layer of four heads ({} parameters) and learn for {} steps. One may look both "
            "ways, the other, "
            "like a GPT, only back. Right answers on sentences whose pairs they have not seen, in percent:",
            "都只有一层、四个头（{} 个参数），训练 {} 步。一个可以往两边看，另一个像 GPT "
            "一样只能往回看。在没见过的组合上，"
            "答对的百分比："},
           parameter_count(named_parameters(both_ways)), steps);
  teach(both_ways, words, steps, rng);
  teach(causal, words, steps, rng);
  const std::vector<Sentence> unseen = draw_sentences(1000, false, rng);
  const std::map<std::string, double> first = exam(both_ways, words, unseen),
                                      second = exam(causal, words, unseen);
  page.line({"  asked at        both ways   causal", "  提问处           看两边   只看前面"});
  for (const char* word : {"it", "comfortable", "whose", "snow", "."})
    page.line("  {:<14} {:>10.1f} {:>8.1f}", word, first.at(word), second.at(word));
  page.say(
      {"At \"it\" the causal model can only guess between two nouns, because the reason is still to come. At "
       "the reason "
       "it knows. That is no defect of its size: no causal model can do better there.",
       "在 it "
       "处，因果模型只能在两个名词之间猜，因为原因还在后面；到了原因那个词，它就知道了。这不是因为模型小："
       "任何因果模型在那里都不可能做得更好。"});

  page.heading({"3. Change the reason", "第三步：换一个原因"});
  for (const char* reason : {"comfortable", "tired"}) {
    const Sentence s = cat_sentence(reason);
    const PaddedBatch ids = words.ids({s});
    const auto says = [&](const WordModel& model, const std::string& word) {
      return words.word(static_cast<std::int32_t>(answers_by(model, ids).at({0, place_of(s, word)})));
    };
    page.line("  ... because it was {:<12} both ways: it = {:<5} causal: it = {:<5} {} = {}", reason,
              says(both_ways, "it"), says(causal, "it"), reason, says(causal, reason));
  }

  page.heading({"4. The row of \"it\"", "第四步：it 的那一行"});
  const Sentence cat = cat_sentence("comfortable"), mary = mary_sentence();
  page.say(
      {"One layer has no go-betweens: what \"it\" knows of other words came to it by this row. Each head, "
       "and their mean:",
       "只有一层，就没有中间人：it "
       "对别的词知道些什么，全是经由这一行得来的。各个头的权重，以及它们的平均："});
  show_row(page, words, both_ways, causal, cat, "it");
  const Tensor two_way = mean_of_heads(both_ways, cat, words), one_way = mean_of_heads(causal, cat, words);
  const std::int64_t it = place_of(cat, "it"), was = place_of(cat, "was");
  const auto of_it = [&](const Tensor& weights, const char* word) {
    return weights.at({it, place_of(cat, word)});
  };
  page.say(
      {"Looking both ways, the mean row has {:.2f} on \"cat\", {:.2f} on \"mat\" and {:.2f} on "
       "\"comfortable\": it "
       "reads nouns to choose from, and the reason to choose by. The choosing itself is done afterwards, by "
       "the "
       "feed-forward half, so the most weight need not be the answer's. The causal model has {:.2f} and "
       "{:.2f} on the two "
       "nouns, and 0 on what is to come. A row of weights tells what was read, not what was concluded. In a "
       "model "
       "of several layers it tells less still: there, each word also carries what it has read before.",
       "能看两边时，平均的那一行里 cat 占 {:.2f}，mat 占 {:.2f}，comfortable 占 "
       "{:.2f}：既读可供选择的名词，也读用来选择的原因。"
       "选择本身是随后由前馈层做的，所以权重最大的不一定就是答案。因果模型在两个名词上各有 {:.2f} 和 {:.2f}，"
       "还没出现的词是 0。一行权重说明读了什么，并不说明得出了什么结论。在多层的模型里，权重能说明的就更少，"
       "因为那里每个词还带着它先前读到的东西。"},
      of_it(two_way, "cat"), of_it(two_way, "mat"), of_it(two_way, "comfortable"), of_it(one_way, "cat"),
      of_it(one_way, "mat"));
  show_matrices(page, words, both_ways, causal, cat);

  page.heading({"5. Far away: the row of \"snow\"", "第五步：隔得很远——snow 的那一行"});
  show_row(page, words, both_ways, causal, mary, "snow");
  page.say(
      {"\"snow\" is asked what looks like it, and reads \"fleece\". It hardly needs \"white\": the colour "
       "does not say "
       "what has it. The full stop is asked whose lamb it was, and must fetch \"Mary\" from the other end:",
       "在 snow 处要回答什么像雪，它读的是 fleece（羊毛）。white 几乎用不着：颜色说不出是什么东西的颜色。"
       "在句号处要回答羊羔是谁的，得从句子的另一头把 Mary 取来："});
  show_row(page, words, both_ways, causal, mary, ".");
  page.say(
      {"To attention, eleven words away is as near as one. Weight on words that cannot help, \"had\" for "
       "instance, is that of "
       "heads with nothing to do: a row must add up to 1, so it has to go somewhere.",
       "对注意力来说，隔十一个词和隔一个词一样近。有些权重落在帮不上忙的词上，比如 "
       "had，那是没事可做的头：每一行加起来必须是 1，"
       "总得放在某个地方。"});
  show_matrices(page, words, both_ways, causal, mary);

  page.heading({"6. Where texts on this are loose", "第六步：一般说法里不严谨的地方"});
  page.value(Text{"causal: weight of 'it' on 'was'", "因果模型：it 对 was 的权重"}, one_way.at({it, was}));
  page.value(Text{"both ways: mean weight on the next word", "双向模型：对后一个词的平均权重"},
             on_next(two_way));
  page.value(Text{"causal: mean weight on the next word", "因果模型：对后一个词的平均权重"},
             on_next(one_way));
  page.say({"One text behind this course gives \"it\" some weight on \"was\", which comes later, and speaks "
            "of heads that look "
            "at the next word. Both are possible only without a causal mask; in a GPT these weights are "
            "exactly 0. It also "
            "gives four words all the weight: a softmax leaves every visible word a little. And these models "
            "know {} "
            "words and two kinds of sentence; a large model's rows are much less tidy.",
            "本课程所依据的一篇文章里，it 对后面的 was "
            "有一点权重，还说有的头专看后一个词。这两样都要没有因果掩码才可能；"
            "在 GPT 里，这些权重恰好是 0。那张表还把全部权重分给了四个词，而 softmax "
            "会给每个看得见的词都留一点。另外，"
            "这里的模型只认识 {} 个词、两种句子；大模型的权重远没有这么整齐。"},
           words.size() - kFirstSymbol);

  page.exercise({"A causal model spreads its weight evenly at \"it\", the 8th word. How much does each "
                 "visible word get?",
                 "因果模型在 it（第 8 个词）处把权重平均分配，每个看得见的词得多少？"},
                {"1/8 = 0.125", "1/8 = 0.125"}, 0.125, 1.0 / static_cast<double>(it + 1));
  page.exercise({"What is the smallest loss a causal model can reach at \"it\" on average, if either noun is "
                 "meant equally "
                 "often?",
                 "如果两个名词被指的机会相等，因果模型在 it 处的平均损失最小能到多少？"},
                {"ln 2 = 0.6931", "ln 2 = 0.6931"}, 0.6931, std::log(2.0));
  page.exercise({"What is the sum of all weights above the diagonal in the causal model?",
                 "因果模型里，对角线以上所有权重之和是多少？"},
                {"0, exactly", "恰好是 0"}, 0, sum(triu(one_way, 1)).item());
}

}  // namespace minigpt::lessons
