#include "models/watch.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/layer_probe.h"
#include "models/metrics.h"
#include "models/statistics.h"
#include "tensor/arithmetic.h"
#include "tensor/parallel.h"
#include "tensor/reduce.h"
#include "tensor/views.h"

namespace minigpt {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBins = 32;
// Enough to see how a layer behaves, and few enough to cost a few per cent of a step.
constexpr std::int64_t kSequences = 2;

Json to_json(const Statistics& s) {
  Json j = {{"norm", s.norm}, {"mean", s.mean}, {"std", s.std},
            {"min", s.min},   {"max", s.max},   {"zeros", s.zeros}};
  if (!s.histogram.empty()) j["hist"] = s.histogram;
  return j;
}

}  // namespace

Watch::Watch(const std::filesystem::path& path, std::int64_t every, std::int64_t from_step)
    : file_(path), every_(every) {
  check(every >= 1, "watch", "the number of steps between records must be at least 1, got {}", every);
  keep_steps_before(file_, from_step);
}

void Watch::before_update(const UpdateView& view) {
  before_.clear();
  for (const NamedParameter& p : view.parameters) before_.push_back(p.variable.value().clone());
}

void Watch::after_update(const UpdateView& view) {
  const std::size_t count = view.parameters.size();
  std::vector<Json> rows(count);
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const NamedParameter& p = view.parameters[i];
      Json& row = rows[i];
      row["name"] = p.name;
      const Statistics weight = statistics(before_[i]);
      row["grad"] = p.variable.has_grad() ? to_json(statistics(p.variable.grad().value(), kBins)) : Json();
      row["weight"] = to_json(weight);
      const double moved = std::sqrt(sum_of_squares(sub(p.variable.value(), before_[i])));
      row["update_ratio"] = weight.norm > 0 ? Json(moved / weight.norm) : Json();
    }
  });
  Json line;
  line["step"] = view.step;
  line["grad_norm"] = view.grad_norm;
  line["clip"] = view.clip;
  line["parameters"] = std::move(rows);
  const std::int64_t sequences = std::min(kSequences, view.inputs.dim(0));
  Json layers = Json::array();
  for (const LayerReport& r : probe_layers(view.model, slice(view.inputs, 0, 0, sequences)))
    layers.push_back({{"layer", layers.size()},
                      {"residual", r.residual},
                      {"branch", r.branch},
                      {"inactive", r.inactive},
                      {"dead", r.dead},
                      {"entropy", r.entropy}});
  line["layers"] = std::move(layers);
  file_.append_line(line.dump());
  before_.clear();
}

void Watch::on_save_start(TrainState& state) {
  file_.sync();
  state.logs["watch.jsonl"] = file_.seal();
}

}  // namespace minigpt
