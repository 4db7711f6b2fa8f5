#include <algorithm>
#include <map>

#include "autograd/graph_recorder.h"
#include "models/gpt.h"
#include "models/open_block.h"
#include "tools/lessons/graph_flow.h"
#include "tools/lessons/lessons.h"

namespace minigpt::lessons {
namespace {

// How many different ways lead from node `first` to the last one, along the edges.
double ways(const Graph& graph, std::size_t first) {
  std::vector<double> count(graph.nodes.size());
  count[first] = 1;
  for (const GraphEdge& e : graph.edges)
    count[static_cast<std::size_t>(e.to)] += count[static_cast<std::size_t>(e.from)];
  return count.back();
}

std::int64_t operations(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode& n) { return !n.leaf; });
}

}  // namespace

void whole_flow(Page& page) {
  page.heading({"The whole way, from characters to logits", "完整的流程：从字符到 logits"});
  page.say(
      {"Every piece has had its lesson. Here they stand in a row, and nothing is drawn by hand: a real GPT "
       "computes its loss on a "
       "real sentence, the engine records every operation, and the pictures are made from that record.",
       "每个零件都已经单独讲过，这一课把它们连成一条线。图不是手画的：让一个真正的 GPT "
       "在一句真正的话上算出损失，引擎会记录"
       "每一步运算，下面的图就由这份记录生成。"});
  const std::string sentence = "to be or not ";
  std::string characters = sentence;
  std::sort(characters.begin(), characters.end());
  characters.erase(std::unique(characters.begin(), characters.end()), characters.end());
  std::vector<std::int32_t> ids;
  for (const char c : sentence) ids.push_back(static_cast<std::int32_t>(characters.find(c)));
  const std::int64_t T = static_cast<std::int64_t>(ids.size()) - 1;

  GptConfig config;
  config.vocab_size = static_cast<std::int64_t>(characters.size());
  config.block_size = T;
  config.n_layer = 2;
  config.n_head = 2;
  config.n_embd = 16;
  Generator rng(page.seed_or(123));
  const Gpt gpt(config, rng);
  const Tensor tokens = Tensor::from(std::span<const std::int32_t>(ids).first(ids.size() - 1), {1, T});
  const Tensor targets = Tensor::from(std::span<const std::int32_t>(ids).subspan(1), {1, T});
  page.matrix(Text{"tokens of \"to be or not\"", "“to be or not”的编号"}, tokens);

  page.heading({"1. The model from above", "一、俯瞰整个模型"});
  page.say(
      {"B = 1 sentence, T = {} characters, C = 16 channels, V = {} different characters. A line down is "
       "\"goes into\"; a rail on "
       "the right carries a value past the steps between. Shapes tell the story: from (B, T) numbers to (B, "
       "T, C) vectors, through "
       "blocks that keep that shape, to (B, T, V) scores.",
       "B = 1 句话，T = {} 个字符，C = 16 个通道，V = {} "
       "种字符。竖线表示“流入下一步”，右侧的轨道把一个值带过中间的步骤。看形状就"
       "能看懂全局：从 (B, T) 个编号变成 (B, T, C) 的向量，穿过不改变形状的块，最后得到 (B, T, V) 的分数。"},
      T, config.vocab_size);
  GraphRecorder recorder;
  const Variable loss = gpt.loss(tokens, targets);
  Graph graph = walk_graph(loss);
  loss.backward();
  recorder.annotate(graph);
  const Graph overview = fold_by_module(graph, 3, false);
  const auto module_name = [](const GraphNode& n) { return std::string(*n.module ? n.module : n.op); };
  const figures::Flow above = flow_of(overview, page, "GPT", module_name);
  page.line("{}", figures::flow_text(above));
  page.figure("whole-flow", figures::flow_svg(above));

  page.heading({"2. Inside a block: QKV, attention, concat, projection, FFN",
                "二、块的内部：QKV、注意力、拼接、投影、FFN"});
  page.say(
      {"The same block, step by step, on what the embedding gave it. The stream x is only ever added to: "
       "that is what the two long "
       "rails are. In between, the shape changes to (B, H, T, D) for the heads, to (B, H, T, T) for who "
       "looks at whom, and back.",
       "现在把第一个块拆成一步一步来看，输入就是嵌入层的输出。主干 x "
       "只会被“加上”东西，两条长轨道就是它。中间的形状先变成 "
       "(B, H, T, D)（分头），再变成 (B, H, T, T)（谁看谁），最后变回来。"});
  Tensor embedded;
  const std::function<void(const char*, const Variable&)> observe = [&](const char* path, const Variable& y) {
    if (path == gpt.transformer.drop.path) embedded = y.value();
  };
  Mode mode;
  mode.observe = &observe;
  gpt.forward(tokens, mode);
  Variable x(embedded, true);
  x.set_name("x");
  const Block& block = gpt.transformer.h[0];
  const std::vector<NamedValue> steps = open_block(block, x, {});
  std::map<const void*, std::string> names;
  for (const NamedValue& s : steps) {
    const std::string path = std::string(block.path) + ".";
    names.emplace(s.value.node(), s.name.starts_with(path) ? s.name.substr(path.size()) : s.name + " out");
  }
  const Graph opened = walk_graph(steps.back().value);
  const figures::Flow inside = flow_of(opened, page, "transformer.h.0", [&](const GraphNode& n) {
    if (n.leaf)
      return std::string(std::string_view(n.name) == "x" ? "x" : "");  // parameters would hide the flow
    const auto name = names.find(n.source);
    return name == names.end() ? std::string(n.op) : name->second;
  });
  page.line("{}", figures::flow_text(inside));
  page.figure("whole-flow-block", figures::flow_svg(inside));

  page.heading({"3. As it is trained, and the way back", "三、训练时的样子，以及反向传播"});
  page.say({"In training, steps that belong together are one operation, so that what passes between them "
            "never leaves the processor's "
            "cache: that record of the same model has {} operations. Backward, the engine walks it from the "
            "loss to the embeddings. "
            "Each operation below is one that really ran, with the length of the gradient of its result.",
            "训练时，相关的步骤会合并成一个运算，中间结果不必离开处理器缓存：同一个模型的这份记录只有 {} "
            "个运算。反向传播就是引擎从损失"
            "一路走回嵌入层。下面每一行都是真正执行过的运算，以及它的结果的梯度长度。"},
           operations(graph));
  for (auto n = graph.nodes.rbegin(); n != graph.nodes.rend(); ++n)
    if (!n->leaf) page.line("  {:<46} {:>12}  {:.4f}", n->label(), n->shape.str(), n->grad_norm);
  page.line("");

  const std::vector<float> weights = steps[6].value.value().to_vector<float>();  // attn.weights
  page.exercise(
      {"Attention weights have the shape (B, H, T, T) = (1, 2, 12, 12). How many of the 288 are not zero?",
       "注意力权重的形状是 (B, H, T, T) = (1, 2, 12, 12)，共 288 个数。其中有多少个不为零？"},
      {"156: position t sees t + 1 positions, so each head has 1 + 2 + ... + 12 = 78",
       "156：位置 t 能看到 t + 1 个位置，每个头有 1 + 2 + ... + 12 = 78 个"},
      156, static_cast<double>(std::count_if(weights.begin(), weights.end(), [](float w) { return w > 0; })));
  const auto start = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                  [](const GraphNode& n) { return n.label() == "transformer add"; });
  page.exercise({"At every + a value can have come through the branch or past it. How many different ways "
                 "lead from the embeddings to the "
                 "loss?",
                 "在每个加号处，数据要么来自分支，要么绕过了它。从嵌入到损失一共有多少条不同的路？"},
                {"16: two per branch, two branches per block, two blocks: 2^4. The shortest passes no block "
                 "at all, which is why gradients "
                 "reach the bottom of deep models (Veit et al. 2016).",
                 "16：每个分支 2 种走法，每块 2 个分支，共 2 块，即 "
                 "2^4。最短的一条不经过任何块，所以梯度能传到很深的模型底部（Veit 等，2016）。"},
                16, ways(graph, static_cast<std::size_t>(start - graph.nodes.begin())));
  config.n_layer = 12;
  const Gpt deep(config, rng);
  page.exercise({"How many operations does the record of a model with 12 blocks have?",
                 "12 个块的模型，这份记录会有多少个运算？"},
                {"91: 7 around the blocks and 7 in each", "91：块外 7 个，每块 7 个"}, 91,
                static_cast<double>(operations(walk_graph(deep.loss(tokens, targets)))));
}

}  // namespace minigpt::lessons
