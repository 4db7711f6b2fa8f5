// minigpt graph: what a training step of a model is made of, as the engine recorded it.

#include <fmt/core.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "models/train_data.h"
#include "models/training_graph.h"
#include "nn/files.h"
#include "tools/arguments.h"
#include "tools/commands.h"
#include "tools/graph_format.h"
#include "tools/inputs.h"
#include "tools/outputs.h"

extern char** environ;

namespace minigpt::tools {
namespace {

struct Options {
  std::string model, data, out, format = "text";
  TextOption batch, depth, threads;
  bool unfold = false, parameters = false, json = false;
  CLI::Option* format_option = nullptr;
};

// A batch from the text, or, for the shapes alone, the symbols in turn.
TokenBatch batch_for(const Options& o, const LoadedModel& loaded, Remarks& remarks) {
  if (!o.data.empty()) {
    const LoadedText text = read_text(o.data, remarks);
    Generator rng(static_cast<std::uint64_t>(loaded.config.seed));
    return TrainData(loaded.config, loaded.tokenizer, text.text, o.data).train_batch(0, rng);
  }
  const std::int64_t B = loaded.config.batch_size, T = loaded.config.model.block_size;
  TokenBatch batch;
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i <= B * T; ++i)
    ids.push_back(static_cast<std::int32_t>(i % loaded.tokenizer.vocab_size()));
  batch.targets = Tensor::from(std::span<const std::int32_t>(ids).subspan(1), {B, T});
  ids.pop_back();
  batch.inputs = Tensor::from(std::span<const std::int32_t>(ids), {B, T});
  return batch;
}

// Whether a program of this name would be found.
bool is_installed(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "/bin:/usr/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access(((folder.empty() ? "." : folder) + "/" + program).c_str(), X_OK) == 0) return true;
  return false;
}

// Hands DOT to Graphviz; the drawing goes to `out`, "" for standard output.
void draw(const std::string& dot, const std::string& out) {
  char name[] = "/tmp/minigpt-graph-XXXXXX";
  const int file = ::mkstemp(name);
  if (file < 0) throw RunError(fmt::format("[graph] {}: {}", name, std::strerror(errno)));
  std::size_t written = 0;
  while (written < dot.size()) {
    const ssize_t n = ::write(file, dot.data() + written, dot.size() - written);
    if (n <= 0) break;
    written += static_cast<std::size_t>(n);
  }
  ::close(file);
  std::fflush(stdout);
  const std::string target = "-o" + out;
  const char* words[] = {"dot", "-Tsvg", name, out.empty() ? nullptr : target.c_str(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, "dot", nullptr, nullptr, const_cast<char**>(words), environ);
  int status = 0;
  if (!failed) ::waitpid(child, &status, 0);
  ::unlink(name);
  if (failed)
    throw RunError(
        fmt::format("[graph] Graphviz's program dot cannot be started: {}", std::strerror(failed)));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || written != dot.size())
    throw RunError("[graph] dot did not draw the graph");
}

void put(const std::string& text, const std::string& out) {
  if (out.empty()) {
    fmt::print("{}", text);
    return;
  }
  write_file_atomically(out, text);
}

int run(const Options& o) {
  apply_threads(o.threads);
  if (o.json && o.format_option->count() > 0 && o.format != "json")
    throw Error(fmt::format("--json and --format {} exclude each other", o.format));
  const std::string format = o.json ? "json" : o.format;
  const std::vector<std::string> formats = {"text", "dot", "svg", "json"};
  if (std::find(formats.begin(), formats.end(), format) == formats.end()) {
    const std::string near = nearest_name(format, formats);
    throw Error(fmt::format("--format: '{}' is not one of text | dot | svg | json{}", format,
                            near.empty() ? "" : "; did you mean " + near + "?"));
  }
  check(format != "svg" || is_installed("dot"), "graph",
        "--format svg needs Graphviz's program dot, which was not found: sudo apt-get install graphviz, or "
        "take --format dot");
  const auto depth = static_cast<int>(o.depth.whole());
  if (o.unfold && o.depth.given()) throw Error("--unfold and --depth exclude each other");
  if (o.unfold && o.parameters) throw Error("--unfold shows parameters anyway: leave out --parameters");
  if (!o.out.empty()) check_output_file("graph", o.out, {o.data});
  Remarks remarks;
  LoadedModel loaded = read_model(o.model, Weights::any, remarks);
  if (o.batch.given()) {
    check(!loaded.config.documents || o.data.empty(), "graph",
          "--batch has no effect: this model learns one document a step");
    loaded.config.batch_size = o.batch.whole();
  }
  const TokenBatch batch = batch_for(o, loaded, remarks);
  remarks.print();
  work_begins();
  const TrainingGraph step =
      graph_of_step(*loaded.model, loaded.config, batch.inputs, batch.targets, !o.data.empty());
  const Graph graph = o.unfold ? step.graph : fold_by_module(step.graph, depth, o.parameters);
  if (format == "svg") {
    draw(graph_dot(graph), o.out);
  } else if (format == "dot") {
    put(graph_dot(graph), o.out);
  } else if (format == "json") {
    nlohmann::ordered_json json = {{"folded", !o.unfold}};
    json["loss"] = o.data.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(step.loss);
    json.update(graph_json(graph));
    put(json.dump() + "\n", o.out);
  } else {
    put(graph_table(graph), o.out);
  }
  return 0;
}

}  // namespace

Command add_graph(CLI::App& app) {
  auto o = std::make_shared<Options>();
  app.description(
      "The graph of one training step: every operation with its shape, what it keeps for the backward pass, "
      "and its time; "
      "with --data also the gradient on each edge. Folded by module; --unfold shows the single operations.");
  app.add_option("--model", o->model, "model folder")->type_name("DIR")->required();
  app.add_option("--data", o->data,
                 "UTF-8 text file for the step; without one, only the forward pass is made, on symbols "
                 "in turn")
      ->type_name("FILE");
  o->format_option = app.add_option("--format", o->format,
                                    "text, dot (for Graphviz), svg (through Graphviz's dot) or json [text]")
                         ->type_name("NAME");
  app.add_flag("--json", o->json, "the same as --format json");
  app.add_flag("--unfold", o->unfold, "every operation and parameter, not one node per module");
  app.add_flag("--parameters", o->parameters, "show parameters in the folded graph too");
  add_number_option(app, o->depth, "--depth", "INT",
                    "fold modules below this many parts of a path together (3: transformer.h.0), 0 for none",
                    "0", between(0, 1000));
  add_number_option(app, o->batch, "--batch", "INT", "windows in the step", "as trained", between(1, 65536));
  app.add_option("--out", o->out, "write to this file, not to standard output")->type_name("FILE");
  add_threads_option(app, o->threads);
  return [o] { return run(*o); };
}

}  // namespace minigpt::tools
