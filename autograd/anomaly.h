#pragma once
// Anomaly mode: stops at the first value that is not finite, forward or backward, and tells where it came from.
//
//   {
//     AnomalyMode anomalies(step);            // watches this thread until it goes
//     model.loss(x, y).backward();            // throws Anomaly
//   }
//
//   [anomaly] step 7: transformer.h.0.mlp mlp: output (4, 8, 16) holds nan at (0, 0, 3)
//     input 1, transformer.h.0.mlp.c_fc.weight (64, 16): 1 value not finite, nan at (5, 3); others in [-0.08, 0.07]

#include <optional>
#include <string>
#include <vector>

#include "autograd/watch.h"
#include "tensor/tensor.h"

namespace minigpt {

// A tensor that the value was computed from.
struct AnomalySource {
  std::string role;  // "input 1", "output", "saved 0", "gradient of the output"
  std::string name;  // of a leaf, or of the operation that made it; "" for neither
  Shape shape;
  double min = 0, max = 0;      // of the finite values; both 0 if there are none
  std::int64_t not_finite = 0;  // how many are not
  std::optional<Dims> first;    // where the first of those is
  double first_value = 0;
  Dims place;  // where `values` begin
  std::vector<double>
      values;  // those that the value was made from, as far as shapes tell: the element at the same place,
               // or the first of the row that was multiplied
};

struct AnomalyReport {
  std::int64_t step = 0;
  bool backward = false;
  std::string op, module;
  std::string tensor;  // "output", "gradient of input 1", "gradient of the output"
  std::string name;    // of the input whose gradient it is; "" otherwise
  Shape shape;
  Dims index;  // of the first value that is not finite
  double value = 0;
  std::vector<AnomalySource> sources;

  // The whole report: one line, and one for each source.
  std::string text() const;
};

// A run that went wrong, at the place where it did.
class Anomaly : public RunError {
 public:
  explicit Anomaly(AnomalyReport r) : RunError(Lines{}, r.text()), report(std::move(r)) {}
  AnomalyReport report;
};

// While alive, every result and every gradient of this thread is looked through, and the first NaN throws Anomaly; so does
// the first infinity that was not put there on purpose: masked_fill may make one, and an operation may pass on
// one of its input's, unless that input is a leaf that wants a gradient. Costs a pass over each tensor; nothing when off.
class AnomalyMode final : public Watcher {
 public:
  explicit AnomalyMode(std::int64_t step = 0) : step_(step) {}
  // Number of the step, for the report.
  void set_step(std::int64_t step) { step_ = step; }

  void on_forward(const char* op, const Variable& y, const Variable* inputs, std::size_t count) override;
  void on_backward(const Node& node, const Variable& dy) override;
  void on_gradient(const Node& node, int input, const Variable& gradient) override;

 private:
  std::int64_t step_;
  Tensor dy_;  // of the node whose backward runs
};

}  // namespace minigpt
