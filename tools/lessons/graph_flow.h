#pragma once
// A recorded graph of a GPT as a flow to look at, with a word on what each part does.

#include "autograd/graph.h"
#include "tools/figures/flow.h"
#include "tools/lessons/lesson.h"

namespace minigpt::lessons {

// What each part does, by its name in the model.
struct Note {
  std::string_view name;
  Text text;
  int colour;
};
inline constexpr Note kNotes[] = {
    {"transformer.wte", {"embedding: a vector per character", "词嵌入：每个字符一个向量"}, 0},
    {"transformer.wpe", {"a vector per position", "每个位置一个向量"}, 0},
    {"transformer", {"embedding + position", "词嵌入 + 位置"}, 0},
    {"transformer.h.0", {"first block", "第一个 Transformer 块"}, 2},
    {"transformer.h.1", {"second block", "第二个 Transformer 块"}, 2},
    {"transformer.ln_f", {"normalised once more", "最后再归一化一次"}, 6},
    {"lm_head", {"logits: a score per possible next character", "logits：给每个可能的下一个字符打分"}, 1},
    {"cross_entropy", {"the loss", "损失"}, 1},
    {"x", {"the stream comes in", "数据流进入这个块"}, 0},
    {"ln_1", {"normalised", "归一化"}, 6},
    {"attn.c_attn", {"Q, K and V side by side, by one matrix", "一次矩阵乘法同时得到 Q、K、V"}, 4},
    {"attn.q", {"Q: H heads of width D", "Q：分成 H 个头，每个头宽 D"}, 4},
    {"attn.k", {"K", "K"}, 4},
    {"attn.v", {"V", "V"}, 4},
    {"attn.scores",
     {"Q K^T / sqrt(D): a score for each pair of positions", "Q K^T / sqrt(D)：每对位置一个分数"},
     2},
    {"masked_fill", {"the future is hidden", "遮住未来"}, 2},
    {"attn.weights", {"attention: rows add up to 1", "注意力权重：每行之和为 1"}, 2},
    {"attn.heads", {"concat: the heads side by side again", "拼接：各个头重新并排放好"}, 2},
    {"attn.c_proj", {"projection: mixes the heads", "投影：把各个头混合起来"}, 2},
    {"mid", {"added to the stream", "加回主干"}, 0},
    {"ln_2", {"normalised", "归一化"}, 6},
    {"mlp.c_fc", {"FFN: four times as wide ...", "FFN：先变宽四倍……"}, 3},
    {"mlp.act", {"... bent by GELU ...", "……经过 GELU……"}, 3},
    {"mlp.c_proj", {"... and back", "……再变回来"}, 3},
    {"transformer.h.0 out", {"added to the stream: on to the next block", "加回主干，送往下一个块"}, 0},
};

// The operations of a graph as a flow; name(node) is what each is called.
template <class Name>
figures::Flow flow_of(const Graph& graph, const Page& page, std::string title, const Name& name) {
  figures::Flow flow;
  flow.title = std::move(title);
  std::vector<int> place;
  for (const GraphNode& n : graph.nodes) {
    const std::string label = name(n);
    place.push_back(label.empty() ? -1 : static_cast<int>(flow.steps.size()));
    if (label.empty()) continue;
    figures::FlowStep step{label, n.shape.str(), "", -1};
    for (const Note& note : kNotes) {
      if (note.name != label) continue;
      step.note = page.chinese() ? note.text.zh : note.text.en;
      step.colour = note.colour;
    }
    flow.steps.push_back(step);
  }
  for (const GraphEdge& e : graph.edges) {
    const int from = place[static_cast<std::size_t>(e.from)], to = place[static_cast<std::size_t>(e.to)];
    if (from >= 0 && to >= 0) flow.edges.push_back({from, to});
  }
  return flow;
}

}  // namespace minigpt::lessons
