#include "tools/bench/matmul.h"

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "tools/bench/clock.h"
#include "tools/bench/worker.h"

namespace minigpt::tools {
namespace {

// One library through one of its entries.
struct Entry {
  Worker* worker;
  std::string way;
  std::vector<double> gflops;  // per round
};

struct Result {
  Product product;
  double peak = 0;
  std::map<std::string, double> gflops;  // by library: the best of its entries
};

std::vector<std::unique_ptr<Worker>> start_workers(const std::vector<std::string>& names, int threads) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (const std::string& name : names) {
    for (const std::string& path : library_candidates(name)) {
      auto worker = std::make_unique<Worker>(name, path, threads);
      bool fresh = worker->ready();
      for (const auto& other : workers) fresh = fresh && (path.empty() || other->file() != worker->file());
      if (fresh) workers.push_back(std::move(worker));
    }
  }
  return workers;
}

Result measure(const Product& product, const std::vector<std::unique_ptr<Worker>>& workers,
               const MatmulBench& bench) {
  std::vector<Entry> entries;
  std::vector<double> peaks;
  for (const auto& worker : workers)
    for (const std::string& way : ways(worker->name(), product.dtype))
      entries.push_back({worker.get(), way, {}});
  for (int round = 0; round < bench.rounds; ++round) {
    for (const auto& worker : workers) {
      if (worker->name() != "minigpt") continue;
      if (const auto rate = worker->peak(product.dtype, bench.slice / 2, bench.fastest))
        peaks.push_back(1e-9 * *rate);
    }
    for (Entry& entry : entries)
      if (const auto seconds = entry.worker->seconds(entry.way, product, bench.slice, bench.fastest))
        entry.gflops.push_back(1e-9 * product.operations() / *seconds);
  }
  const auto one_of = [&](const std::vector<double>& rates) {
    return bench.fastest && !rates.empty() ? *std::max_element(rates.begin(), rates.end()) : median(rates);
  };
  Result result{product, one_of(peaks), {}};
  for (const Entry& entry : entries) {
    if (entry.gflops.empty()) continue;
    double& best = result.gflops[entry.worker->name()];
    best = std::max(best, one_of(entry.gflops));
  }
  return result;
}

double rounded(double value) { return std::round(100 * value) / 100; }

void print_json(const Result& r, int threads, const std::vector<std::string>& names) {
  nlohmann::ordered_json line;
  line["m"] = r.product.m;
  line["n"] = r.product.n;
  line["k"] = r.product.k;
  line["layout"] = r.product.layout;
  line["threads"] = threads;
  line["dtype"] = r.product.dtype;
  line["peak_gflops"] = rounded(r.peak);
  line["gflops"] = nlohmann::ordered_json::object();
  for (const std::string& name : names)
    if (const auto found = r.gflops.find(name); found != r.gflops.end())
      line["gflops"][name] = rounded(found->second);
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

// Geometric means of what minigpt reaches, against each library, the fastest one and the peak.
class Means {
 public:
  void add(const Result& r) {
    const auto own = r.gflops.find("minigpt");
    if (own == r.gflops.end()) return;
    double best = 0;
    for (const auto& [name, value] : r.gflops) {
      if (name == "minigpt") continue;
      add("minigpt / " + name, own->second / value);
      best = std::max(best, value);
    }
    if (best > 0) add("minigpt / the fastest library of each row", own->second / best);
    if (r.peak > 0) add("minigpt / peak", own->second / r.peak);
  }
  void print() const {
    if (sums_.empty()) return;
    fmt::print("\nGeometric means:\n");
    for (const auto& [what, sum] : sums_)
      fmt::print("  {:<42} {:.3f}  ({} products)\n", what, std::exp(sum.first / sum.second), sum.second);
  }

 private:
  void add(const std::string& what, double ratio) {
    auto& [total, count] = sums_[what];
    total += std::log(ratio);
    ++count;
  }
  std::map<std::string, std::pair<double, int>> sums_;
};

void print_header(const std::vector<std::unique_ptr<Worker>>& workers, const std::vector<std::string>& names,
                  int threads, bool fastest) {
  fmt::print("\n{} thread{}, GFLOP/s ({})\n", threads, threads == 1 ? "" : "s",
             fastest ? "fastest" : "medians");
  for (const auto& w : workers)
    if (!w->file().empty()) fmt::print("  {}: {} {}\n", w->name(), w->file(), w->version());
  fmt::print("{:<18} {:<6} {:<5} {:>8}", "m x n x k", "layout", "type", "peak");
  for (const std::string& name : names) fmt::print(" {:>9}", name);
  fmt::print(" {:>8} {:>12}\n", "of peak", "of fastest");
}

void print_row(const Result& r, const std::vector<std::string>& names) {
  const Product& p = r.product;
  fmt::print("{:<18} {:<6} {:<5} {:>8.1f}", fmt::format("{}x{}x{}", p.m, p.n, p.k), p.layout, p.dtype,
             r.peak);
  double own = 0, best = 0;
  for (const std::string& name : names) {
    const auto found = r.gflops.find(name);
    fmt::print(" {:>9}", found == r.gflops.end() ? "-" : fmt::format("{:.1f}", found->second));
    if (found == r.gflops.end()) continue;
    (name == "minigpt" ? own : best) = std::max(name == "minigpt" ? own : best, found->second);
  }
  fmt::print(" {:>8} {:>12}\n", own > 0 && r.peak > 0 ? fmt::format("{:.3f}", own / r.peak) : "-",
             own > 0 && best > 0 ? fmt::format("{:.3f}", own / best) : "-");
  std::fflush(stdout);
}

}  // namespace

void bench_matmul(const MatmulBench& bench) {
  Means means;
  for (const int threads : bench.threads) {
    const auto workers = start_workers(bench.contenders, threads);
    std::vector<std::string> names;
    for (const std::string& name : bench.contenders)
      for (const auto& worker : workers)
        if (worker->name() == name && (names.empty() || names.back() != name)) names.push_back(name);
    if (!bench.json) print_header(workers, names, threads, bench.fastest);
    for (const Product& product : bench.products) {
      const Result result = measure(product, workers, bench);
      if (bench.json)
        print_json(result, threads, names);
      else
        print_row(result, names);
      means.add(result);
    }
  }
  if (!bench.json) means.print();
}

}  // namespace minigpt::tools
