#pragma once
// What `minigpt inspect` knows, as the one JSON object that --json prints and the page embeds. Its fields are explained in
// tools/report/README.md.

#include <nlohmann/json.hpp>
#include <span>

#include "models/gradient_report.h"
#include "models/head_analysis.h"
#include "models/model_folder.h"
#include "models/ngram.h"
#include "models/predictions.h"
#include "models/train_data.h"
#include "models/training_graph.h"

namespace minigpt::tools {

using Json = nlohmann::ordered_json;

// Six significant digits, which is what float32 is worth; null if it is not finite.
Json number(double value);

Json model_json(const LoadedModel& loaded, const std::string& folder);
// The labels of a text's tokens.
Json text_json(const CharTokenizer& tokenizer, std::span<const std::int32_t> tokens,
               const std::string& source);
// metrics.jsonl as columns, and the n-gram ladder of the text if it has a validation part. An absent or broken line is left out.
Json training_json(const ModelFolder& folder, const TrainConfig& config, const TrainData& data,
                   std::int64_t vocab);
Json gradients_json(const GradientReport& report, double grad_clip, const Tensor& tokens);
// The lines of watch.jsonl, which `minigpt train --watch` writes; null if there is no such file.
Json watch_json(const ModelFolder& folder);
// Operations in the order of the forward pass, with the names of the parameters that they read.
Json graph_json(const TrainingGraph& step);
// All weights of the heads on one text, packed (models/packed_weights.h).
Json attention_json(const Gpt& model, std::span<const std::int32_t> tokens);
Json heads_json(std::span<const HeadReport> reports);
// per_token: what saliency_by_token gave, or empty.
Json predictions_json(const Predictions& predictions, std::span<const double> per_token);

}  // namespace minigpt::tools
