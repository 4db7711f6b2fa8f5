#include "tools/report/inspection.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "models/log_lines.h"
#include "models/packed_weights.h"
#include "models/text_file.h"
#include "tensor/views.h"

namespace minigpt::tools {
namespace {

Json numbers(std::span<const double> values) {
  Json list = Json::array();
  for (const double v : values) list.push_back(number(v));
  return list;
}

Json dimensions(const Shape& shape) { return std::vector<std::int64_t>(shape.begin(), shape.end()); }

// Each line that a run can have written; it may be writing the last one at this moment.
std::vector<Json> log_lines(const std::filesystem::path& path) {
  std::vector<Json> objects;
  if (!std::filesystem::exists(path)) return objects;
  const std::string text = read_file(path, "inspect"), name = path.filename().string();
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    const std::string_view line = std::string_view(text).substr(i, end - i);
    if (read_log_line(name, line)) objects.push_back(Json::parse(line));
    i = end + 1;
  }
  return objects;
}

Json summary_json(const Statistics& s) {
  return {{"norm", number(s.norm)},    {"mean", number(s.mean)},
          {"std", number(s.std)},      {"min", number(s.min)},
          {"max", number(s.max)},      {"zeros", number(s.zeros)},
          {"hist", s.histogram},       {"range", numbers(std::array{s.min, s.max})},
          {"not_finite", s.not_finite}};
}

}  // namespace

Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

Json model_json(const LoadedModel& loaded, const std::string& folder) {
  Json out;
  out["folder"] = folder;
  out["config"] = Json::parse(to_json(loaded.config));
  out["parameters"] = parameter_count(loaded.model->parameters());
  for (std::int32_t id = 0; id < loaded.tokenizer.vocab_size(); ++id)
    out["vocabulary"].push_back(loaded.tokenizer.label(id));
  return out;
}

Json text_json(const CharTokenizer& tokenizer, std::span<const std::int32_t> tokens,
               const std::string& source) {
  Json out = {{"source", source}, {"tokens", std::vector<std::int32_t>(tokens.begin(), tokens.end())}};
  for (const std::int32_t id : tokens) out["characters"].push_back(tokenizer.decode(id));
  return out;
}

Json training_json(const ModelFolder& folder, const TrainConfig& config, const TrainData& data,
                   std::int64_t vocab) {
  Json steps = {{"step", Json::array()}}, evaluations = Json::array();
  constexpr const char* columns[] = {"loss", "lr", "grad_norm", "tokens_per_s"};
  for (const char* name : columns) steps[name] = Json::array();
  for (const Json& line : log_lines(folder.metrics())) {
    if (line.contains("val_loss")) evaluations.push_back(line);
    if (!line.contains("loss")) continue;
    steps["step"].push_back(line.contains("step") ? line["step"] : Json());
    for (const char* name : columns) steps[name].push_back(line.contains(name) ? line[name] : nullptr);
  }
  Json out = {{"steps", std::move(steps)}, {"evaluations", std::move(evaluations)}};
  out["grad_clip"] = config.grad_clip;
  out["ladder"] = nullptr;
  if (data.has_validation()) {
    const NgramLadder ladder =
        ngram_ladder(data.tokens(Split::kTrain), data.tokens(Split::kValidation), vocab);
    out["ladder"] = {{"uniform", number(ladder.uniform)}, {"rows", Json::array()}};
    for (const NgramLadder::Row& row : ladder.rows)
      out["ladder"]["rows"].push_back({{"order", row.order},
                                       {"additive", number(row.additive_loss)},
                                       {"witten_bell", number(row.witten_bell_loss)}});
  }
  return out;
}

Json gradients_json(const GradientReport& report, double grad_clip, const Tensor& tokens) {
  Json out = {{"batch", dimensions(tokens.shape())}, {"loss", number(report.loss)}};
  out["norm"] = number(report.norm);
  out["grad_clip"] = grad_clip;
  out["verdicts"] = Json::array();
  for (const Verdict& v : gradient_verdicts(report, grad_clip))
    out["verdicts"].push_back({{"id", v.id}, {"where", v.where}, {"text", v.text}});
  for (const ParameterGradient& p : report.parameters) {
    Json row = {{"name", p.name}, {"shape", dimensions(p.shape)}, {"ratio", number(p.ratio())}};
    row["grad"] = p.has_gradient ? summary_json(p.grad) : Json();
    row["weight"] = summary_json(p.weight);
    out["parameters"].push_back(std::move(row));
  }
  return out;
}

Json watch_json(const ModelFolder& folder) {
  const std::vector<Json> lines = log_lines(folder.watch());
  return lines.empty() ? Json() : Json(lines);
}

Json graph_json(const TrainingGraph& step) {
  Json out = {{"loss", number(step.loss)}, {"nodes", Json::array()}};
  std::vector<std::size_t> place(step.graph.nodes.size());  // of an operation among the operations
  for (std::size_t i = 0; i < step.graph.nodes.size(); ++i) {
    const GraphNode& n = step.graph.nodes[i];
    if (n.leaf) continue;
    place[i] = out["nodes"].size();
    out["nodes"].push_back({{"id", place[i]},
                            {"op", n.op},
                            {"module", n.module},
                            {"shape", dimensions(n.shape)},
                            {"dtype", name_of(n.dtype)},
                            {"saved_bytes", n.kept_bytes},
                            {"grad_norm", number(n.grad_norm)},
                            {"forward_ms", number(1e3 * n.forward_seconds)},
                            {"backward_ms", number(1e3 * n.backward_seconds)},
                            {"inputs", Json::array()},
                            {"parameters", Json::array()}});
  }
  for (const GraphEdge& e : step.graph.edges) {
    const GraphNode& from = step.graph.nodes[static_cast<std::size_t>(e.from)];
    Json& to = out["nodes"][place[static_cast<std::size_t>(e.to)]];
    if (from.leaf)
      to["parameters"].push_back(from.name);
    else
      to["inputs"].push_back(place[static_cast<std::size_t>(e.from)]);
  }
  return out;
}

Json attention_json(const Gpt& model, std::span<const std::int32_t> tokens) {
  const auto T = static_cast<std::int64_t>(tokens.size());
  Json out = {{"length", T}, {"layers", Json::array()}};
  visit_attention_weights(
      model, Tensor::from<std::int32_t>(tokens, {1, T}), [&](std::int64_t, const Tensor& weights) {
        Json heads = Json::array();
        for (std::int64_t h = 0; h < model.config.n_head; ++h)
          heads.push_back(
              pack_causal(select(select(weights, 0, 0), 0, h).to(DType::f64).to_vector<double>()));
        out["layers"].push_back(std::move(heads));
      });
  return out;
}

Json heads_json(std::span<const HeadReport> reports) {
  Json list = Json::array();
  const auto score = [](const Score& s) { return s.rows > 0 ? number(s.value()) : Json(); };
  for (const HeadReport& r : reports)
    list.push_back({{"layer", r.layer},
                    {"head", r.head},
                    {"type", r.type},
                    {"entropy", score(r.scores.entropy)},
                    {"distance", score(r.scores.distance)},
                    {"loss_rise", r.measured ? number(r.loss_rise) : Json()}});
  return list;
}

Json predictions_json(const Predictions& p, std::span<const double> per_token) {
  Json out = {{"mean_loss", number(p.mean_loss())}, {"loss", numbers(p.loss)}};
  for (const std::vector<Candidate>& top : p.top) {
    Json list = Json::array();
    for (const Candidate& c : top) list.push_back({c.token, number(c.probability)});
    out["top"].push_back(std::move(list));
  }
  for (const std::vector<LensReading>& layer : p.lens) {
    Json token = Json::array(), best = Json::array(), target = Json::array();
    for (const LensReading& r : layer) {
      token.push_back(r.best.token);
      best.push_back(number(r.best.probability));
      target.push_back(number(r.probability));
    }
    out["lens"].push_back({{"token", token}, {"probability", best}, {"target", target}});
  }
  out["saliency"] = numbers(p.saliency);
  out["saliency_by_token"] = nullptr;
  if (!per_token.empty()) {
    const std::size_t T = p.loss.size();
    out["saliency_by_token"] = Json::array();
    for (std::size_t i = 0; i < T; ++i)
      out["saliency_by_token"].push_back(numbers(per_token.subspan(i * T, i + 1)));
  }
  return out;
}

}  // namespace minigpt::tools
