// minigpt bench: how fast minigpt is here. The measurements themselves are in tools/bench/.

#include <fmt/core.h>

#include <algorithm>

#include "tensor/parallel.h"
#include "tools/arguments.h"
#include "tools/bench/matmul.h"
#include "tools/bench/worker.h"
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
  bool json = false;
};

int run_matmul(const MatmulOptions& o) {
  constexpr double kLongest = 1 << 20;
  MatmulBench bench;
  for (const std::string& text : split(o.threads.text, ','))
    bench.threads.push_back(static_cast<int>(whole_number("--threads", text, 1, 1024)));
  const std::vector<std::string> layouts = names_of(o.layouts, {"NN", "NT", "TN"});
  const std::vector<std::string> dtypes = names_of(o.dtype, {"f32", "bf16"});
  for (const std::string& text : split(o.shapes.text, ',')) {
    const std::vector<std::string> sides = split(text, 'x');
    check(sides.size() == 3, "option", "--shapes: '{}' is not of the form MxNxK", text);
    Product p;
    p.m = whole_number("--shapes", sides[0], 1, kLongest);
    p.n = whole_number("--shapes", sides[1], 1, kLongest);
    p.k = whole_number("--shapes", sides[2], 1, kLongest);
    for (const std::int64_t size : {p.m * p.k, p.k * p.n, p.m * p.n})
      check(size <= (std::int64_t{1} << 31), "option",
            "--shapes: {} has a matrix of {} elements, more than 2^31", text, size);
    for (p.layout = ""; const std::string& dtype : dtypes) {
      for (const std::string& layout : layouts) {
        p.layout = layout;
        p.dtype = dtype;
        bench.products.push_back(p);
      }
    }
  }
  bench.contenders = names_of(o.libraries, contender_names());
  bench.rounds = static_cast<int>(o.rounds.whole(1, 1000));
  bench.slice = 1e-3 * o.slice.real(0.1, 10000);
  bench.json = o.json;
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
  add_text_option(app, o->rounds, "--rounds", "INT", "times that each library has its turn (1 to 1000)", "5");
  add_text_option(app, o->slice, "--slice", "MS", "milliseconds of a turn (0.1 to 10000)", "40");
  add_text_option(app, o->libraries, "--libraries", "LIST", "which to time, if they are found",
                  "minigpt,openblas,blis,mkl,onednn");
  app.add_flag("--json", o->json, "print one JSON object a line");
  return [o] { return run_matmul(*o); };
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
  return [o]() -> int { serve_benchmark(o->name, o->path, static_cast<int>(o->threads.whole(1, 1024))); };
}

}  // namespace

Command add_bench(CLI::App& app) {
  app.description("Times minigpt on this machine. `minigpt bench NAME --help` explains a benchmark.");
  const std::pair<const char*, Command (*)(CLI::App&)> benchmarks[] = {
      {"matmul", add_matmul},
      {"worker", add_worker},
  };
  auto entries = std::make_shared<std::vector<std::pair<CLI::App*, Command>>>();
  for (const auto& [name, add] : benchmarks) {
    CLI::App* sub = app.add_subcommand(name);
    sub->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
    entries->emplace_back(sub, add(*sub));
  }
  return [entries, &app] {
    for (const auto& [sub, run] : *entries)
      if (sub->parsed()) return run();
    fmt::print(stderr, "{}", app.help());
    fail("bench", "the name of a benchmark is needed");
  };
}

}  // namespace minigpt::tools
