#pragma once
// The recorded graph as plain data, for looking at: which operations made a value, out of what, and what they keep.
//
//   Variable loss = model.loss(x, y);
//   const Graph graph = walk_graph(loss);       // before backward(), which uses the graph up
//   for (const GraphNode& n : graph.nodes) fmt::print("{} {} {}\n", n.module, n.op, n.shape);

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/variable.h"

namespace minigpt {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// An operation, or a leaf: a tensor made by hand that wants a gradient.
struct GraphNode {
  bool leaf = false;
  const char* op = "";      // "softmax"; "" for a leaf
  const char* module = "";  // path of the module that ran the operation, "" outside of any
  const char* name = "";    // of a leaf: "transformer.wte.weight", "" if it has none
  std::uint64_t sequence =
      0;        // creation number of an operation, rising in the order of execution; 0 for a leaf
  Shape shape;  // of the output
  DType dtype = DType::f32;
  std::int64_t saved_bytes = 0;  // in all tensors that its backward reads
  std::int64_t kept_bytes = 0;   // of these, in tensors that no leaf and no older operation holds already
  const void* source = nullptr;  // tells nodes apart; never to be followed
  // Filled in by a GraphRecorder (autograd/graph_recorder.h), else not a number:
  double forward_seconds = kNotMeasured;
  double backward_seconds = kNotMeasured;
  double grad_norm =
      kNotMeasured;  // Euclidean, of the whole gradient of the output; of a leaf: of its grad()

  // The leaf's name, or module and operation: "transformer.h.0.attn causal_attention".
  std::string label() const;
};

// The output of nodes[from] is input number `input` of nodes[to].
struct GraphEdge {
  int from = 0;
  int to = 0;
  int input = 0;
  Shape shape;
  double grad_norm = kNotMeasured;  // Euclidean, of what flows back along it
};

struct Graph {
  std::vector<GraphNode> nodes;  // leaves in the order in which they are used, then operations, oldest first
  std::vector<GraphEdge> edges;  // by `to`, then by `input`

  std::int64_t kept_bytes() const;
};

// Everything with a gradient that `output` was made from. Inputs that need no gradient (tokens, masks, constants) are not
// part of the recorded graph. Costs nothing to what is walked; iterative, so that any depth will do.
// Throws Error if `output` requires no gradient, or if backward() has used its graph up.
Graph walk_graph(const Variable& output);

// The same graph with all operations of a module as one node, and the edges inside it gone: op holds their names, "a, b";
// shape, dtype and gradient are those of the last one; bytes and times are summed. A path is cut after `depth` parts
// ("transformer.h.0" has 3); 0: not cut. Operations outside of any module stay as they are, and so do leaves, unless
// `leaves` is false: then they are left out, with their edges.
Graph fold_by_module(const Graph& graph, int depth = 0, bool leaves = true);

// d(scalar)/d(the tensor of that name), keeping the graph. `name` is a leaf's ("transformer.wte.weight"), or a module's
// ("transformer.h.0.attn": the output of its last operation), or a module's with an operation ("transformer.h.0.attn
// causal_attention", as GraphNode::label() writes it). Works as grad() of autograd/engine.h does; with create_graph the
// result can be differentiated again. Throws Error, with the nearest name, if there is none such in the graph of `scalar`.
Variable gradient_of(const Variable& scalar, std::string_view name, bool create_graph = false);

}  // namespace minigpt
