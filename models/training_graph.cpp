#include "models/training_graph.h"

#include "autograd/graph_recorder.h"

namespace minigpt {

TrainingGraph graph_of_step(Gpt& model, const TrainConfig& config, const Tensor& inputs,
                            const Tensor& targets, bool backward) {
  const std::vector<NamedParameter> parameters = model.parameters();
  std::vector<Variable> before;
  for (const NamedParameter& p : parameters) {
    Variable variable = p.variable;
    before.push_back(variable.has_grad() ? variable.grad() : Variable());
    variable.zero_grad();
  }
  DropoutStream masks = DropoutStream::counter(static_cast<std::uint64_t>(config.seed));
  masks.begin(0);
  Mode mode;
  mode.training = true;
  mode.dropout = &masks;
  mode.recompute = config.recompute;
  const ScopedMatmulPrecision precision(config.matmul_precision());
  GraphRecorder recorder;
  const Variable loss = model.loss(inputs, targets, mode);
  TrainingGraph step{walk_graph(loss), loss.item()};
  if (backward) loss.backward();
  recorder.annotate(step.graph);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Variable variable = parameters[i].variable;
    variable.set_grad(before[i]);
  }
  return step;
}

}  // namespace minigpt
