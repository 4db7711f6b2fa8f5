// minigpt sample: text from a trained model.

#include <fmt/core.h>

#include <iostream>
#include <iterator>

#include "models/model_folder.h"
#include "models/sampler.h"
#include "models/text_file.h"
#include "models/utf8.h"
#include "tools/arguments.h"
#include "tools/commands.h"

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, prompt, prompt_file, stop;
  CLI::Option* prompt_option = nullptr;
  TextOption tokens, samples, temperature, top_k, top_p, seed, threads;
};

std::string read_prompt(const Options& o) {
  if (o.prompt_file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  if (!o.prompt_file.empty()) return read_file(o.prompt_file, "prompt");
  return o.prompt;
}

// Prints characters as they come and watches for the stop text, which is not printed.
class Printer {
 public:
  Printer(const CharTokenizer& tokenizer, std::string stop) : tokenizer_(tokenizer), stop_(std::move(stop)) {}

  // False once the stop text has been completed.
  bool add(std::int32_t token) {
    waiting_ += tokenizer_.decode(token);
    if (stop_.empty()) {
      flush();
      return true;
    }
    if (const auto at = waiting_.find(stop_); at != std::string::npos) {
      waiting_.resize(at);
      flush();
      return false;
    }
    // Everything but a possible beginning of the stop text can go out.
    std::size_t keep = std::min(stop_.size() - 1, waiting_.size());
    while (keep > 0 && waiting_.compare(waiting_.size() - keep, keep, stop_, 0, keep) != 0) --keep;
    print(waiting_.substr(0, waiting_.size() - keep));
    waiting_.erase(0, waiting_.size() - keep);
    return true;
  }

  void flush() {
    print(waiting_);
    waiting_.clear();
  }

 private:
  static void print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0) throw RunError("[sample] standard output could not be written");
  }

  const CharTokenizer& tokenizer_;
  std::string stop_;
  std::string waiting_;
};

int run(const Options& o) {
  apply_threads(o.threads);
  SampleOptions options;
  options.temperature = o.temperature.real(0, 1e9);
  options.top_k = o.top_k.whole(0, 1e9);
  options.top_p = o.top_p.real(0, 1);
  options.validate();
  const std::int64_t count = o.tokens.whole(0, 1e12);
  const std::int64_t samples = o.samples.whole(1, 1e9);
  check(!(o.prompt_option->count() > 0 && !o.prompt_file.empty()), "sample",
        "--prompt and --prompt-file exclude each other");
  const std::uint64_t seed = seed_or_fresh(o.seed);
  Generator rng(seed);
  const LoadedModel loaded = load_model(o.model, rng);
  for (const std::string& warning : loaded.warnings) fmt::print(stderr, "warning: {}\n", warning);

  const std::string text = read_prompt(o);
  std::vector<std::int32_t> prompt = loaded.tokenizer.encode_utf8(text, "prompt");
  const std::string shown_prompt = loaded.tokenizer.decode(prompt);
  const bool from_start = prompt.empty();
  if (from_start || loaded.tokenizer.has_document_token())
    prompt.insert(prompt.begin(), loaded.tokenizer.start_id());

  // The header goes to standard error, so that standard output holds the text and nothing else.
  fmt::print(stderr, "seed {}, temperature {}", seed, options.temperature);
  if (from_start) fmt::print(stderr, ", starting from {}", loaded.tokenizer.label(prompt.front()));
  fmt::print(stderr, "\n");
  const auto length = static_cast<std::int64_t>(prompt.size());
  if (length > loaded.config.model.block_size)
    fmt::print(stderr, "note: the model sees the last {} of {} prompt characters\n",
               loaded.config.model.block_size, length);

  for (std::int64_t i = 0; i < samples; ++i) {
    if (samples > 1) fmt::print("{}--- sample {} ---\n", i > 0 ? "\n" : "", i + 1);
    fmt::print("{}", shown_prompt);
    Printer printer(loaded.tokenizer, o.stop);
    generate(*loaded.model, prompt, count, options, rng, [&](std::int32_t token) {
      // A document ends where the model says so.
      if (loaded.tokenizer.has_document_token() && token == loaded.tokenizer.document_id()) return false;
      return printer.add(token);
    });
    printer.flush();
    fmt::print("\n");
  }
  return 0;
}

}  // namespace

Command add_sample(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description("Writes text with a trained model. Uses the weights with the best validation loss.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  o->prompt_option = app.add_option("--prompt", o->prompt,
                                    "text to continue; taken literally, \\n is two characters. Without one, "
                                    "a new line (or the first character of the vocabulary)");
  app.add_option(
         "--prompt-file", o->prompt_file,
         "file with the text to continue, - for standard input; a line break at its end belongs to it")
      ->type_name("FILE");
  add_text_option(app, o->tokens, "--tokens", "INT", "characters to generate", "500");
  add_text_option(app, o->samples, "--samples", "INT", "texts to generate", "1");
  add_text_option(app, o->temperature, "--temperature", "NUMBER",
                  "0 takes the likeliest character, 1 samples as learned", "0.8");
  add_text_option(app, o->top_k, "--top-k", "INT", "choose among the k likeliest characters, 0 for all", "0");
  add_text_option(app, o->top_p, "--top-p", "NUMBER",
                  "choose among the likeliest that reach this probability", "1");
  add_text_option(app, o->seed, "--seed", "INT", "start of the random stream; printed if not given", "");
  app.add_option("--stop", o->stop, "end a sample when this text appears");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
