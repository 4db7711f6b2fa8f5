// minigpt sample: text from a trained model.

#include <fmt/core.h>

#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/sampler.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/inputs.h"
#include "tools/messages.h"
#include "tools/sample_output.h"

namespace minigpt::tools {
namespace {

// Texts that are written together: enough to share each reading of the weights, few enough for their caches to be small.
constexpr std::size_t kTogether = 8;

struct Options {
  std::string model, prompt_file, prompts_file, stop, window = "exact", dtype = "f32";
  std::vector<std::string> prompts;
  TextOption tokens, samples, temperature, top_k, top_p, seed, threads;
  bool json = false;
};

SampleOptions sample_options(const Options& o) {
  SampleOptions options;
  options.temperature = o.temperature.real();
  options.top_k = o.top_k.whole();
  options.top_p = o.top_p.real();
  check(o.window == "exact" || o.window == "chunk", "sample", "--window must be exact or chunk, got '{}'",
        o.window);
  options.window = o.window == "chunk" ? FullWindow::chunk : FullWindow::exact;
  options.validate();
  return options;
}

// A text to continue, and where it stands, for what is wrong with it.
struct GivenPrompt {
  std::string text, source = "prompt";
};

// At least one.
std::vector<GivenPrompt> read_prompts(const Options& o) {
  const int sources = !o.prompts.empty() + !o.prompt_file.empty() + !o.prompts_file.empty();
  check(sources <= 1, "sample", "--prompt, --prompt-file and --prompts-file exclude each other");
  const auto read = [](const std::string& path) {
    return path == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                       : read_file(path, "prompt");
  };
  const auto name = [](const std::string& path) { return path == "-" ? "standard input" : path; };
  if (!o.prompt_file.empty()) return {{read(o.prompt_file), name(o.prompt_file)}};
  if (o.prompts_file.empty() && o.prompts.empty()) return {{""}};
  std::vector<GivenPrompt> lines;
  for (const std::string& prompt : o.prompts) lines.push_back({prompt});
  if (o.prompts_file.empty()) return lines;
  std::istringstream text(read(o.prompts_file));
  for (std::string line; std::getline(text, line);)
    lines.push_back({line, fmt::format("{}, line {}", name(o.prompts_file), lines.size() + 1)});
  check(!lines.empty(), "sample", "{} holds no prompt", o.prompts_file);
  return lines;
}

// A prompt as the model gets it, and as it is shown.
struct Prompt {
  std::vector<std::int32_t> tokens;
  std::string shown;
  bool from_start;  // no text was given
};

Prompt encode(const CharTokenizer& tokenizer, const GivenPrompt& given) {
  Prompt prompt{tokenizer.encode_utf8(given.text, given.source), {}, false};
  prompt.shown = tokenizer.decode(prompt.tokens);
  prompt.from_start = prompt.tokens.empty();
  if (prompt.from_start || tokenizer.has_document_token())
    prompt.tokens.insert(prompt.tokens.begin(), tokenizer.start_id());
  return prompt;
}

// Continues prompts[first + i] for i < n side by side. Text number j draws from a stream of its own, seed + j: it is what
// that seed gives alone.
void write_together(GptDecoder& decoder, const CharTokenizer& tokenizer,
                    std::span<const Prompt* const> prompts, std::size_t first, std::uint64_t seed,
                    bool numbered, const Options& o) {
  TextsInOrder output(prompts.size());
  std::vector<StopFilter> filters(prompts.size(), StopFilter(o.stop));
  std::vector<TextRequest> texts;
  std::vector<std::string> written(prompts.size());  // with --json, which prints whole texts
  const auto add = [&](std::size_t i, const std::string& text) {
    if (o.json)
      written[i] += text;
    else
      output.add(i, text);
  };
  const auto end = [&](std::size_t i) {
    if (output.finished(i)) return;
    add(i, filters[i].rest());
    if (o.json) {
      nlohmann::ordered_json line;
      line["sample"] = first + i + 1;
      line["seed"] = seed + first + i;
      line["prompt"] = prompts[i]->shown;
      line["text"] = written[i];
      output.add(i, line.dump());
    }
    output.add(i, "\n");
    output.finish(i);
  };
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::size_t number = first + i;
    if (!o.json) {
      if (numbered) output.add(i, fmt::format("{}--- sample {} ---\n", number > 0 ? "\n" : "", number + 1));
      output.add(i, prompts[i]->shown);
    }
    texts.push_back({prompts[i]->tokens, Generator(seed + number), [&, i](std::int32_t token) {
                       // A document ends where the model says so.
                       bool more = !tokenizer.has_document_token() || token != tokenizer.document_id();
                       if (more) add(i, filters[i].add(tokenizer.decode(token)));
                       more = more && !filters[i].stopped();
                       if (!more) end(i);
                       return more;
                     }});
  }
  generate(decoder, texts, o.tokens.whole(), sample_options(o));
  for (std::size_t i = 0; i < prompts.size(); ++i) end(i);
}

int run(const Options& o) {
  apply_threads(o.threads);
  const SampleOptions options = sample_options(o);
  o.tokens.whole();
  const auto samples = static_cast<std::size_t>(o.samples.whole());
  check(o.dtype == "f32" || o.dtype == "bf16", "sample", "--dtype must be f32 or bf16, got '{}'", o.dtype);
  const std::vector<GivenPrompt> given = read_prompts(o);
  const std::uint64_t seed = seed_or_fresh(o.seed);
  Remarks remarks;
  if (options.temperature == 0) {  // nothing is drawn
    for (const TextOption* idle : {&o.top_k, &o.top_p, &o.seed})
      if (idle->given())
        remarks.note("{} has no effect: --temperature 0 takes the likeliest character", idle->name);
    if (samples > 1) remarks.note("--samples: with --temperature 0, all texts of a prompt are the same");
  }
  const LoadedModel loaded = read_model(o.model, Weights::finite, remarks);
  if (o.dtype == "bf16") round_matrices(*loaded.model);

  std::vector<Prompt> prompts;
  for (const GivenPrompt& text : given) prompts.push_back(encode(loaded.tokenizer, text));

  for (const Prompt& prompt : prompts)
    if (const auto length = static_cast<std::int64_t>(prompt.tokens.size());
        length > loaded.config.model.block_size)
      remarks.note("the model sees the last {} of {} prompt characters", loaded.config.model.block_size,
                   length);
  remarks.print();
  work_begins();
  // The header goes to standard error, so that standard output holds the text and nothing else.
  say("seed {}, temperature {}{}\n", seed, options.temperature,
      prompts[0].from_start ? ", starting from " + loaded.tokenizer.label(prompts[0].tokens[0]) : "");

  GptDecoder decoder(*loaded.model, o.dtype == "bf16" ? DType::bf16 : DType::f32);
  const std::size_t texts =
      prompts.size() * samples;  // all samples of the first prompt, then of the second, ...
  for (std::size_t first = 0; first < texts; first += kTogether) {
    std::vector<const Prompt*> group;
    for (std::size_t i = first; i < std::min(texts, first + kTogether); ++i)
      group.push_back(&prompts[i / samples]);
    write_together(decoder, loaded.tokenizer, group, first, seed, texts > 1, o);
  }
  return 0;
}

}  // namespace

Command add_sample(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description("Writes text with a trained model. Uses the weights with the best validation loss.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  // One value per --prompt: a list would take the following words too.
  app.add_option(
         "--prompt", o->prompts,
         "text to continue; taken literally, \\n is two characters; may be given several times. Without one, "
         "a new line (or the first character of the vocabulary)")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  app.add_option(
         "--prompt-file", o->prompt_file,
         "file with the text to continue, - for standard input; a line break at its end belongs to it")
      ->type_name("FILE");
  app.add_option("--prompts-file", o->prompts_file,
                 "file with one text to continue a line, - for standard input")
      ->type_name("FILE");
  add_number_option(app, o->tokens, "--tokens", "INT", "characters to generate", "500", between(0, kCount));
  add_number_option(app, o->samples, "--samples", "INT", "texts to generate from each prompt", "1",
                    between(1, 1e9));
  add_number_option(app, o->temperature, "--temperature", "NUMBER",
                    "0 takes the likeliest character, 1 samples as learned", "0.8", between(0, 1e9));
  add_number_option(app, o->top_k, "--top-k", "INT", "choose among the k likeliest characters, 0 for all",
                    "0", between(0, 1e9));
  add_number_option(app, o->top_p, "--top-p", "NUMBER",
                    "choose among the likeliest that reach this probability", "1", above(0, 1));
  add_number_option(
      app, o->seed, "--seed", "INT",
      "start of the random stream; printed if not given. Of several texts, the next draws from the stream "
      "of seed + 1, and so on: each is what its seed gives alone",
      "", between(0, kSeed));
  app.add_option("--window", o->window,
                 "when the context is full: exact computes the whole window anew for every character; chunk "
                 "keeps the "
                 "newest half and goes on from there, many times as fast, which gives another text")
      ->type_name("exact|chunk")
      ->capture_default_str();
  app.add_option("--dtype", o->dtype,
                 "bf16 rounds the weight matrices to 16 bits: half the memory to read per character")
      ->type_name("f32|bf16")
      ->capture_default_str();
  app.add_option("--stop", o->stop, "end a sample when this text appears");
  app.add_flag("--json", o->json, "print one JSON object a line for each text: sample, seed, prompt, text");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
