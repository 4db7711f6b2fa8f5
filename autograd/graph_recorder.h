#pragma once
// GraphRecorder: measures a graph while it is made and used: the time of each operation, forward and backward, and the norm
// of the gradient on each edge.
//
//   GraphRecorder recorder;                     // watches this thread until it goes
//   const Variable loss = model.loss(x, y);
//   Graph graph = walk_graph(loss);
//   loss.backward();
//   recorder.annotate(graph);
//
// Only looks: gradients are the same bits as without it.

#include <unordered_map>

#include "autograd/graph.h"
#include "autograd/watch.h"

namespace minigpt {

class GraphRecorder final : public Watcher {
 public:
  GraphRecorder();

  // Writes what was measured so far into the nodes and edges that it was measured on: forward_seconds is the time since the
  // operation before, backward_seconds that of the backward function and the sums it is sent to. Of an edge or a value that
  // had several backward passes, the last one counts.
  void annotate(Graph& graph) const;

  void on_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) override;
  void on_backward(const Node& node, const Variable& dy) override;
  void on_gradient(const Node& node, int input, const Variable& gradient) override;
  void on_backward_end(const Node& node) override;

 private:
  struct Measured {
    double forward = kNotMeasured, backward = kNotMeasured, grad_norm = kNotMeasured;
    double started = 0, aside = 0;   // of the running backward, and how much of it went into measuring
    std::vector<double> edge_norms;  // by input
  };
  std::unordered_map<std::uint64_t, Measured> nodes_;  // by creation number
  std::unordered_map<std::uint64_t, Measured>::iterator at(const Node& node);
  std::unordered_map<const void*, Ref<detail::GradMeta>> leaves_;
  double last_ = 0;  // end of the last operation
};

}  // namespace minigpt
