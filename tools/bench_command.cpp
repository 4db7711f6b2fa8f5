// minigpt bench: how fast minigpt is here. The measurements themselves are in tools/bench/.

#include <fmt/core.h>

#include <algorithm>

#include "models/text_file.h"
#include "models/utf8.h"
#include "tensor/parallel.h"
#include "tools/arguments.h"
#include "tools/bench/matmul.h"
#include "tools/bench/memory.h"
#include "tools/bench/ops.h"
#include "tools/bench/sample.h"
#include "tools/bench/train.h"
#include "tools/bench/worker.h"
#include "tools/builtin_text.h"
#include "tools/commands.h"

namespace minigpt::tools {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// Each part of a list, all of which must be among `known`.
std::vector<std::string> names_of(const TextOption& option, const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& name : known) all += (all.empty() ? "" : ", ") + name;
  std::vector<std::string> names = split(option.text, ',');
  for (const std::string& name : names)
    check(std::find(known.begin(), known.end(), name) != known.end(), "option", "{}: '{}' is not one of {}",
          option.name, name, all);
  return names;
}

struct MatmulOptions {
  TextOption shapes, layouts, threads, rounds, slice, dtype, libraries;
  bool fastest = false, json = false;
};

int run_matmul(const MatmulOptions& o) {
  constexpr double kLongest = 1 << 20;
  MatmulBench bench;
  for (const std::string& text : split(o.threads.text, ','))
    bench.threads.push_back(static_cast<int>(whole_number("--threads", text, between(1, 1024))));
  const std::vector<std::string> layouts = names_of(o.layouts, {"NN", "NT", "TN"});
  const std::vector<std::string> dtypes = names_of(o.dtype, {"f32", "bf16"});
  for (const std::string& text : split(o.shapes.text, ',')) {
    const std::vector<std::string> sides = split(text, 'x');
    check(sides.size() == 3, "option", "--shapes: '{}' is not of the form MxNxK", text);
    Product p;
    p.m = whole_number("--shapes", sides[0], between(1, kLongest));
    p.n = whole_number("--shapes", sides[1], between(1, kLongest));
    p.k = whole_number("--shapes", sides[2], between(1, kLongest));
    for (const std::int64_t size : {p.m * p.k, p.k * p.n, p.m * p.n})
      check(size <= (std::int64_t{1} << 31), "option",
            "--shapes: {} has a matrix of {} elements, more than 2^31", text, size);
    for (const std::string& dtype : dtypes) {
      for (const std::string& layout : layouts) {
        p.layout = layout;
        p.dtype = dtype;
        bench.products.push_back(p);
      }
    }
  }
  bench.contenders = names_of(o.libraries, contender_names());
  bench.rounds = static_cast<int>(o.rounds.whole());
  bench.slice = 1e-3 * o.slice.real();
  bench.fastest = o.fastest;
  bench.json = o.json;
  work_begins();
  bench_matmul(bench);
  return 0;
}

std::string default_threads() {
  const int n = default_num_threads();
  return n == 1 ? "1" : fmt::format("1,{}", n);
}

Command add_matmul(CLI::App& app) {
  auto o = std::make_shared<MatmulOptions>();
  app.description(
      "Times matrix products: GFLOP/s, the share of the multiply-add peak measured on the spot, and the same "
      "through\n"
      "OpenBLAS, BLIS, MKL and oneDNN if they are installed. Every library runs in a process of its own; "
      "they take\n"
      "turns. Takes a few minutes; --shapes, --layouts and --rounds make it shorter.");
  add_text_option(
      app, o->shapes, "--shapes", "LIST", "MxNxK,...: (M, K) times (K, N)",
      "512x512x512,1024x1024x1024,768x384x128,768x512x128,768x128x512,16384x1536x384,64x64x32,256x256x64");
  add_text_option(app, o->layouts, "--layouts", "LIST",
                  "of NN, NT (the second matrix is stored transposed), TN (the first)", "NN,NT,TN");
  add_text_option(app, o->threads, "--threads", "LIST", "numbers of threads (1 to 1024)", default_threads());
  add_text_option(app, o->dtype, "--dtype", "LIST", "of f32, bf16 (the sums are f32)", "f32");
  add_number_option(app, o->rounds, "--rounds", "INT", "times that each library has its turn", "5",
                    between(1, 1000));
  add_number_option(app, o->slice, "--slice", "MS", "milliseconds of a turn", "40", between(0.1, 10000));
  add_text_option(app, o->libraries, "--libraries", "LIST", "which to time, if they are found",
                  "minigpt,openblas,blis,mkl,onednn");
  app.add_flag("--fastest", o->fastest,
               "count the fastest calls, not the median: for a machine that is busy otherwise");
  app.add_flag("--json", o->json, "print one JSON object a line");
  return [o] { return run_matmul(*o); };
}

// What most benchmarks take.
struct CommonOptions {
  std::string preset = "nanogpt-cpu";
  TextOption threads, vocabulary, dtype;
  std::vector<std::string> dtypes = {"f32"};  // that the benchmark knows
  bool json = false;

  std::string dtypes_text() const {
    std::string text;
    for (const std::string& name : dtypes) text += (text.empty() ? "" : ", ") + name;
    return text;
  }

  void add_preset(CLI::App& app) {
    std::string names;
    for (const std::string& name : preset_names()) names += (names.empty() ? "" : ", ") + name;
    app.add_option("--preset", preset, "the model and its recipe: " + names)
        ->type_name("NAME")
        ->capture_default_str();
  }
  void add_vocabulary(CLI::App& app) {
    add_number_option(app, vocabulary, "--vocabulary", "INT", "symbols", "65", between(1, 1000000));
  }
  void add_rest(CLI::App& app) {
    add_text_option(app, dtype, "--dtype", "NAME", "factors of matrix products: " + dtypes_text(), "f32");
    add_threads_option(app, threads);
    app.add_flag("--json", json, "print one JSON object a line");
  }
  void apply() const {
    check(std::find(dtypes.begin(), dtypes.end(), dtype.text) != dtypes.end(), "option",
          "--dtype: '{}' is not one of {}", dtype.text, dtypes_text());
    apply_threads(threads);
  }
  TrainConfig config() const {
    TrainConfig c = minigpt::preset(preset);
    if (!vocabulary.name.empty()) c.model.vocab_size = vocabulary.whole();
    return c;
  }
};

Command add_ops(CLI::App& app) {
  struct OpsOptions : CommonOptions {
    TextOption shape, heads, milliseconds;
    std::string only;
  };
  auto o = std::make_shared<OpsOptions>();
  app.description(
      "Times single operations, forward and with their backward pass, and the cost of recording one.");
  add_text_option(app, o->shape, "--shape", "BxTxC", "batch, context, channels (each 1 to 65536)",
                  "12x64x384");
  add_number_option(app, o->heads, "--heads", "INT", "attention heads; must divide C", "6", between(1, 1024));
  add_number_option(app, o->milliseconds, "--slice", "MS", "milliseconds for each figure", "100",
                    between(0.1, 10000));
  app.add_option("--only", o->only, "just the operations with this in their name")->type_name("TEXT");
  o->add_vocabulary(app);
  o->add_rest(app);
  return [o] {
    OpsBench bench;
    const std::vector<std::string> sides = split(o->shape.text, 'x');
    check(sides.size() == 3, "option", "--shape: '{}' is not of the form BxTxC", o->shape.text);
    bench.B = whole_number("--shape", sides[0], between(1, 65536));
    bench.T = whole_number("--shape", sides[1], between(1, 65536));
    bench.C = whole_number("--shape", sides[2], between(1, 65536));
    bench.heads = o->heads.whole();
    check(bench.C % bench.heads == 0, "option", "--heads: {} does not divide {} channels", bench.heads,
          bench.C);
    bench.vocabulary = o->vocabulary.whole();
    bench.only = o->only;
    bench.seconds = 1e-3 * o->milliseconds.real();
    bench.json = o->json;
    o->apply();
    work_begins();
    bench_ops(bench);
    return 0;
  };
}

Command add_bench_train(CLI::App& app) {
  struct TrainOptions : CommonOptions {
    std::string data;
    TextOption steps;
    bool profile = false, recompute = false;
  };
  auto o = std::make_shared<TrainOptions>();
  o->dtypes = {"f32", "bf16"};
  app.description(
      "Times training steps: milliseconds, tokens/s, GFLOP/s of the matrix products and their share of the\n"
      "multiply-add peak, memory. Nothing is saved.");
  o->add_preset(app);
  app.add_option("--data", o->data, "UTF-8 text file; without it, minigpt's own source code")
      ->type_name("FILE");
  add_number_option(app, o->steps, "--steps", "INT", "steps to time, after 3 that are not", "20",
                    between(1, 1000000));
  app.add_flag("--recompute", o->recompute,
               "keep one tensor per block for the backward pass and compute the rest again");
  app.add_flag("--profile", o->profile, "show the time of each operation, forward and backward");
  o->add_rest(app);
  return [o] {
    TrainBench bench;
    bench.preset = o->preset;
    bench.config = o->config();
    bench.dtype = bench.config.dtype = o->dtype.text;
    bench.config.recompute = o->recompute;
    bench.steps = static_cast<int>(o->steps.whole());
    bench.profile = o->profile;
    bench.json = o->json;
    o->apply();
    const std::u32string text =
        o->data.empty() ? utf8_decode(builtin_text(), "the built-in text").text : load_text(o->data).text;
    bench.text = text;
    work_begins();
    bench_train(bench);
    return 0;
  };
}

Command add_bench_sample(CLI::App& app) {
  struct SampleOptions : CommonOptions {
    TextOption batches, milliseconds;
  };
  auto o = std::make_shared<SampleOptions>();
  app.description(
      "Times writing text with random weights: tokens/s within the context, beyond it, and of a prompt.");
  o->add_preset(app);
  add_text_option(app, o->batches, "--batches", "LIST", "texts written at once (each 1 to 65536)", "1,4,16");
  add_number_option(app, o->milliseconds, "--slice", "MS", "milliseconds for each figure", "1000",
                    between(0.1, 100000));
  o->add_vocabulary(app);
  o->add_rest(app);
  return [o] {
    SampleBench bench;
    bench.preset = o->preset;
    bench.model = o->config().model;
    bench.batches.clear();
    for (const std::string& text : split(o->batches.text, ','))
      bench.batches.push_back(whole_number("--batches", text, between(1, 65536)));
    bench.seconds = 1e-3 * o->milliseconds.real();
    bench.json = o->json;
    o->apply();
    work_begins();
    bench_sample(bench);
    return 0;
  };
}

Command add_memory(CLI::App& app) {
  auto o = std::make_shared<CommonOptions>();
  app.description("Shows what a training step keeps in memory, by kind.");
  o->add_preset(app);
  o->add_vocabulary(app);
  o->add_rest(app);
  return [o] {
    MemoryBench bench;
    bench.preset = o->preset;
    bench.config = o->config();
    bench.json = o->json;
    o->apply();
    work_begins();
    bench_memory(bench);
    return 0;
  };
}

// Started by bench matmul; not for users.
Command add_worker(CLI::App& app) {
  struct WorkerOptions {
    std::string name, path;
    TextOption threads;
  };
  auto o = std::make_shared<WorkerOptions>();
  app.group("");
  app.add_option("--name", o->name)->required();
  app.add_option("--path", o->path);
  add_threads_option(app, o->threads);
  return [o]() -> int {
    const auto threads = static_cast<int>(o->threads.whole());
    work_begins();
    serve_benchmark(o->name, o->path, threads);
  };
}

}  // namespace

Command add_bench(CLI::App& app) {
  app.description("Times minigpt on this machine. `minigpt bench NAME --help` explains a benchmark.");
  const std::pair<const char*, Command (*)(CLI::App&)> benchmarks[] = {
      {"matmul", add_matmul},       {"ops", add_ops},       {"train", add_bench_train},
      {"sample", add_bench_sample}, {"memory", add_memory}, {"worker", add_worker},
  };
  auto entries = std::make_shared<std::vector<std::pair<CLI::App*, Command>>>();
  for (const auto& [name, add] : benchmarks) {
    CLI::App* sub = app.add_subcommand(name);
    sub->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    entries->emplace_back(sub, add(*sub));
  }
  return [entries]() -> int {
    for (const auto& [sub, run] : *entries)
      if (sub->parsed()) return run();
    fail("bench", "needs the name of a benchmark: matmul, ops, train, sample, memory");
  };
}

}  // namespace minigpt::tools
