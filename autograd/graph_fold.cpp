// Folding a graph: one node per module.

#include <map>

#include "autograd/graph.h"
#include "autograd/scope.h"

namespace minigpt {
namespace {

std::string_view cut(std::string_view path, int depth) {
  if (depth <= 0) return path;
  std::size_t at = 0;
  for (int part = 0; part < depth; ++part) {
    at = path.find('.', at);
    if (at == path.npos) return path;
    ++at;
  }
  return path.substr(0, at - 1);
}

// Sum of measured values; what was not measured does not count.
double plus(double a, double b) { return a != a ? b : (b != b ? a : a + b); }

// Adds an operation to the node of its module; operations come in the order in which they ran.
void add(GraphNode& folded, const GraphNode& n) {
  folded.op = *folded.op ? intern(fmt::format("{}, {}", folded.op, n.op)) : n.op;
  folded.sequence = n.sequence;
  folded.shape = n.shape;
  folded.dtype = n.dtype;
  folded.grad_norm = n.grad_norm;
  folded.saved_bytes += n.saved_bytes;
  folded.kept_bytes += n.kept_bytes;
  folded.forward_seconds = plus(folded.forward_seconds, n.forward_seconds);
  folded.backward_seconds = plus(folded.backward_seconds, n.backward_seconds);
}

}  // namespace

Graph fold_by_module(const Graph& graph, int depth, bool leaves) {
  Graph out;
  std::map<std::string_view, int> modules;
  std::vector<int> place;  // of each old node; -1: left out
  for (const GraphNode& n : graph.nodes) {
    const std::string_view path = cut(n.module, depth);
    const int next = static_cast<int>(out.nodes.size());
    if (n.leaf && !leaves) {
      place.push_back(-1);
    } else if (n.leaf || path.empty()) {
      place.push_back(next);
      out.nodes.push_back(n);
    } else {
      const auto [entry, fresh] = modules.emplace(path, next);
      place.push_back(entry->second);
      if (fresh) out.nodes.emplace_back().module = intern(path);
      add(out.nodes[static_cast<std::size_t>(entry->second)], n);
    }
  }
  for (const GraphEdge& e : graph.edges) {
    GraphEdge folded = e;
    folded.from = place[static_cast<std::size_t>(e.from)];
    folded.to = place[static_cast<std::size_t>(e.to)];
    if (folded.from >= 0 && folded.from != folded.to) out.edges.push_back(folded);
  }
  return out;
}

}  // namespace minigpt
