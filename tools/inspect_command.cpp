// minigpt inspect: everything about a trained model and one text, as JSON or as a page.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "autograd/profile.h"
#include "models/evaluate.h"
#include "models/run_logs.h"
#include "models/utf8.h"
#include "nn/files.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"
#include "tools/arguments.h"
#include "tools/bench/flops.h"
#include "tools/bench/memory_use.h"
#include "tools/bench/peak.h"
#include "tools/commands.h"
#include "tools/inputs.h"
#include "tools/messages.h"
#include "tools/outputs.h"
#include "tools/report/page.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, data, text, out;
  TextOption attention_mb, threads;
  bool json = false, ablation = false, saliency = false;
};

constexpr std::int64_t kBatchTokens = 4096;     // of the step whose gradients, graph and cost are shown
constexpr std::size_t kAblationTokens = 16384;  // as `minigpt heads` looks at
constexpr std::size_t kHeadWindows = 16;        // that the types of heads are read from
constexpr double kSaliencyFlops = 2e11;         // a few seconds: more only if asked for

using Tokens = std::vector<std::int32_t>;

// In base64, two bytes a weight (models/packed_weights.h), of every pair of a character and an earlier one.
double attention_megabytes(const GptConfig& c, double characters) {
  return 1e-6 * 8 / 3 * static_cast<double>(c.n_layer * c.n_head) * characters * (characters + 1) / 2;
}

// The tokens that are looked at: block_size, as far as their attention weights fit into a page, and one more that is only
// predicted.
Tokens window_of(const LoadedModel& loaded, const TrainData& data, const std::string& text, double megabytes,
                 Remarks& remarks) {
  const auto context = loaded.config.model.block_size;
  std::int64_t shown = context;
  while (shown > 1 && attention_megabytes(loaded.config.model, static_cast<double>(shown)) > megabytes)
    --shown;
  if (shown < context)
    remarks.note("attention on {} characters would fill {:.3g} MB: {} are shown; --attention-mb allows more",
                 context, attention_megabytes(loaded.config.model, static_cast<double>(context)), shown);
  const auto most = static_cast<std::size_t>(shown) + 1;
  const bool documents = loaded.config.documents;
  Tokens tokens;
  if (!text.empty()) {
    tokens = loaded.tokenizer.encode_utf8(text, "--text");
    if (documents) tokens.insert(tokens.begin(), loaded.tokenizer.document_id());
    check(tokens.size() >= 2, "inspect", "--text: needs at least 2 characters");
    if (tokens.size() > most)
      remarks.note("the model's context is {}: {} of the {} characters of --text are shown", context, most,
                   tokens.size());
  } else {
    const std::span<const std::int32_t> all =
        data.tokens(data.has_validation() ? Split::kValidation : Split::kTrain);
    tokens.assign(all.begin(), all.end());
    if (documents) {  // the first one, with both of its boundaries
      const auto end = std::find(tokens.begin() + 1, tokens.end(), loaded.tokenizer.document_id());
      if (end != tokens.end()) tokens.erase(end + 1, tokens.end());
    }
  }
  tokens.resize(std::min(tokens.size(), most));
  return tokens;
}

std::vector<HeadReport> heads_of(const LoadedModel& loaded, const TrainData& data, const Tokens& window,
                                 bool ablation) {
  const auto block = static_cast<std::size_t>(loaded.config.model.block_size);
  if (block < 2) return {};
  const std::span<const std::int32_t> all =
      data.tokens(data.has_validation() ? Split::kValidation : Split::kTrain);
  std::vector<Tokens> windows;
  if (!loaded.config.documents)
    for (std::size_t at = 0; at + block <= all.size() && windows.size() < kHeadWindows; at += block)
      windows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(at + block));
  if (windows.empty())
    windows.emplace_back(window.begin(),
                         window.begin() + static_cast<std::ptrdiff_t>(std::min(block, window.size())));
  std::vector<HeadReport> reports = analyse_heads(*loaded.model, token_kinds(loaded.tokenizer), windows);
  if (!ablation) return reports;
  auto part = all.first(std::min(all.size(), kAblationTokens));
  if (loaded.config.documents)  // whole ones
    while (part.size() > 2 && part.back() != loaded.tokenizer.document_id())
      part = part.first(part.size() - 1);
  measure_ablation(*loaded.model, reports, [&](const Gpt& model) {
    return (loaded.config.documents ? score_documents(model, part, loaded.tokenizer.document_id())
                                    : score_text(model, part))
        .loss();
  });
  return reports;
}

// Where the time of forward and backward goes, by operation, and how much of the processor's multiply-adds it uses.
Json cost_json(const LoadedModel& loaded, const TokenBatch& batch) {
  const auto step = [&] { loaded.model->loss(batch.inputs, batch.targets).backward(); };
  constexpr int kSteps = 3;
  Gpt shared = *loaded.model;
  const std::vector<NamedParameter> parameters = shared.parameters();
  step();  // fills the caches
  reset_peak_memory();
  std::vector<ProfileRow> rows;
  {
    Profile profile;
    for (int i = 0; i < kSteps; ++i) {
      zero_grad(parameters);
      profile_mark("zero_grad");
      step();
      profile_mark("gradients of leaves");
    }
    rows = profile.rows();
  }
  const std::int64_t tensor_bytes = memory_stats().peak_bytes;
  zero_grad(parameters);
  const double peak = measure_peak("f32", num_threads(), 0.1);
  const auto tokens = static_cast<double>(batch.inputs.numel());
  const double flops = step_flops(loaded.config.model, tokens, static_cast<double>(batch.inputs.dim(1)));
  double seconds = 0;
  Json ops = Json::array();
  for (const ProfileRow& r : rows) {
    seconds += (r.forward + r.backward) / kSteps;
    ops.push_back({{"op", r.name},
                   {"calls", number(static_cast<double>(r.calls) / kSteps)},
                   {"forward_ms", number(1e3 * r.forward / kSteps)},
                   {"backward_ms", number(1e3 * r.backward / kSteps)}});
  }
  return {{"batch", {batch.inputs.dim(0), batch.inputs.dim(1)}},
          {"threads", num_threads()},
          {"kernels", kernel_set().name},
          {"ms", number(1e3 * seconds)},
          {"gflop", number(1e-9 * flops)},
          {"gflops", number(1e-9 * flops / seconds)},
          {"peak_gflops", number(1e-9 * peak)},
          {"share_of_peak", peak > 0 ? number(flops / seconds / peak) : Json()},
          {"tensor_bytes", tensor_bytes},
          {"resident_bytes", peak_resident_bytes()},
          {"ops", std::move(ops)}};
}

Json inspect(const Options& o) {
  Remarks remarks;
  const LoadedModel loaded = read_model(o.model, Weights::any, remarks);
  const LoadedText text = read_text(o.data, remarks);
  const TrainData data(loaded.config, loaded.tokenizer, text.text, o.data);
  const ModelFolder folder(o.model);
  for (const std::string& damage : history_damage(folder)) remarks.note("{}", damage);
  const Tokens window = window_of(loaded, data, o.text, o.attention_mb.real(), remarks);
  remarks.print();
  const std::span<const std::int32_t> inputs(window.data(), window.size() - 1);
  const Gpt& model = *loaded.model;

  TrainConfig small = loaded.config;
  small.batch_size = std::clamp(kBatchTokens / small.model.block_size, std::int64_t{1}, small.batch_size);
  const TrainData step_data(small, loaded.tokenizer, text.text, o.data);
  const TokenBatch batch = step_data.eval_batch(Split::kTrain, 0, 1, nullptr);

  work_begins();
  Json out = {{"format", "minigpt-inspection"}, {"version", 1}};
  out["model"] = model_json(loaded, o.model);
  out["text"] = text_json(loaded.tokenizer, window, o.text.empty() ? o.data : "--text");
  out["training"] = training_json(folder, loaded.config, data, loaded.tokenizer.vocab_size());
  out["gradients"] = gradients_json(inspect_gradients(model, batch.inputs, batch.targets),
                                    loaded.config.grad_clip, batch.inputs);
  out["watch"] = watch_json(folder);
  TrainConfig plain = loaded.config;  // every operation in sight, also of a run that recomputes
  plain.recompute = false;
  out["graph"] = graph_json(graph_of_step(*loaded.model, plain, batch.inputs, batch.targets));
  out["attention"] = attention_json(model, inputs);
  out["heads"] = heads_json(heads_of(loaded, data, window, o.ablation));
  std::vector<double> per_token;
  if (o.saliency || saliency_flops(model, static_cast<std::int64_t>(inputs.size())) <= kSaliencyFlops)
    per_token = saliency_by_token(model, window);
  out["predictions"] = predictions_json(predict(model, window), per_token);
  out["cost"] = cost_json(loaded, batch);
  return out;
}

int run(const Options& o) {
  check(o.json || !o.out.empty(), "inspect", "needs --out FILE for the page, or --json");
  if (!o.out.empty()) {  // before minutes of work
    check_output_file("inspect", o.out, {o.data});
    check(has_report_page(), "inspect",
          "--out: this minigpt was built without the page (no npm, or MINIGPT_REPORT=OFF); --json prints the "
          "same data");
  }
  apply_threads(o.threads);
  const Json inspection = inspect(o);
  if (!o.out.empty()) {
    write_file_atomically(o.out, report_page(inspection));
    say("{}: open it with a browser\n", o.out);
  }
  if (o.json) fmt::print("{}\n", inspection.dump(-1, ' ', false, Json::error_handler_t::replace));
  return 0;
}

}  // namespace

Command add_inspect(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "Looks into a trained model: its training, the gradients and the graph of one step, every attention "
      "weight on a text, "
      "what it predicts there and why, and what a step costs. Writes one page that needs no network, or "
      "JSON.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--data", o->data, "UTF-8 text file, best the one it was trained on")
      ->type_name("FILE")
      ->required();
  app.add_option("--text", o->text,
                 "look at attention and predictions on this text (default: the validation part's start)")
      ->type_name("TEXT");
  app.add_option("--out", o->out, "write the page to this file")->type_name("FILE");
  app.add_flag("--json", o->json, "print everything as one JSON object (tools/report/README.md)");
  app.add_flag("--ablation", o->ablation, "measure the loss without each head: takes longer");
  app.add_flag("--saliency", o->saliency,
               "what each single character's loss hangs on, even where that takes long");
  add_number_option(
      app, o->attention_mb, "--attention-mb", "NUMBER",
      "most megabytes of attention weights; of a longer context, the first characters are shown", "32",
      between(1e-6, 1e4));
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
