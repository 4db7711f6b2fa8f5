// The child's side of worker.h. Lines:
//
//   <- ready FILE TAB VERSION          or  missing
//   -> time WAY M N K LAYOUT DTYPE S FASTEST   <- seconds per call, or 0 if that cannot be done, or comes out wrong
//   -> peak DTYPE S FASTEST                    <- floating-point operations per second

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>
#include <sys/prctl.h>

#include <bit>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>

#include "tools/bench/clock.h"
#include "tools/bench/peak.h"
#include "tools/bench/worker.h"

namespace minigpt::tools {
namespace {

// The file behind a name that the loader resolved.
std::string loaded_file(const std::string& path) {
  void* library = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  if (!library || ::dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) return "";
  std::error_code failed;
  const auto file = std::filesystem::canonical(map->l_name, failed);
  return failed ? std::string(map->l_name) : file.string();
}

// Aligned memory that is given back with the product it serves.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes) : data_(::operator new(bytes, kAlign)) {}
  ~Buffer() { ::operator delete(data_, kAlign); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  void* get() const { return data_; }

 private:
  static constexpr std::align_val_t kAlign{64};
  void* data_;
};

// count numbers in [-1, 1) of the given type; always the same ones.
std::unique_ptr<Buffer> numbers(std::int64_t count, const std::string& dtype) {
  const bool half = dtype == "bf16";
  auto buffer = std::make_unique<Buffer>(static_cast<std::size_t>(count) * (half ? 2 : 4));
  std::uint32_t state = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    if (half)  // bfloat16 is the upper half of a float
      static_cast<std::uint16_t*>(buffer->get())[i] =
          static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
    else
      static_cast<float*>(buffer->get())[i] = value;
  }
  return buffer;
}

// Element i of an array made by numbers().
double value_at(const void* data, std::int64_t i, const std::string& dtype) {
  if (dtype != "bf16") return static_cast<const float*>(data)[i];
  return std::bit_cast<float>(std::uint32_t{static_cast<const std::uint16_t*>(data)[i]} << 16);
}

// Whether some elements of C are what they should be: the speed of a wrong product says nothing.
bool correct(const Product& p, const Operands& o) {
  for (const auto& [i, j] :
       {std::pair<std::int64_t, std::int64_t>{0, 0}, {p.m - 1, 0}, {p.m / 2, p.n / 3}, {0, p.n - 1}}) {
    double sum = 0;
    for (std::int64_t q = 0; q < p.k; ++q)
      sum += value_at(o.a, p.transposed_a() ? q * p.m + i : i * p.k + q, p.dtype) *
             value_at(o.b, p.transposed_b() ? j * p.k + q : q * p.n + j, p.dtype);
    if (!(std::fabs(o.c[i * p.n + j] - sum) <= 1e-4 * (1 + std::sqrt(static_cast<double>(p.k)))))
      return false;
  }
  return true;
}

class Server {
 public:
  Server(Contender& contender, int threads) : contender_(contender), threads_(threads) {}

  double answer(const std::string& line) {
    std::istringstream words(line);
    std::string what, way;
    Product p;
    double slice = 0;
    bool fastest = false;
    words >> what;
    if (what == "peak") {
      words >> p.dtype >> slice >> fastest;
      return measure_peak(p.dtype, threads_, slice, fastest);
    }
    words >> way >> p.m >> p.n >> p.k >> p.layout >> p.dtype >> slice >> fastest;
    if (!words) return 0;
    if (way != way_ || !(p == product_)) prepare(way, p);
    return multiply_ ? seconds_per_call(slice, multiply_, fastest) : 0;
  }

 private:
  void prepare(const std::string& way, const Product& p) {
    if (!(p == product_)) {
      a_ = numbers(p.m * p.k, p.dtype);
      b_ = numbers(p.k * p.n, p.dtype);
      c_ = std::make_unique<Buffer>(static_cast<std::size_t>(p.m * p.n) * sizeof(float));
    }
    const Operands operands{a_->get(), b_->get(), static_cast<float*>(c_->get())};
    multiply_ = contender_.prepare(way, p, operands);
    if (multiply_) {
      operands.c[0] = NAN;
      multiply_();
      if (!correct(p, operands)) multiply_ = {};
    }
    product_ = p;
    way_ = way;
  }

  Contender& contender_;
  int threads_;
  Product product_;
  std::string way_;
  std::unique_ptr<Buffer> a_, b_, c_;
  Multiply multiply_;
};

}  // namespace

void serve_benchmark(const std::string& name, const std::string& path, int threads) {
  // A stopped process would outlive a parent that was killed.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::unique_ptr<Contender> contender = load_contender(name, path, threads);
  if (contender) {
    fmt::print("ready {}\t{}\n", loaded_file(path), contender->version());
    std::fflush(stdout);
    Server server(*contender, threads);
    for (std::string line; std::getline(std::cin, line);) {
      fmt::print("{}\n", server.answer(line));
      std::fflush(stdout);
    }
  } else {
    fmt::print("missing\n");
    std::fflush(stdout);
  }
  // Without the libraries' own clean-up, which may wait for threads.
  std::_Exit(0);
}

}  // namespace minigpt::tools
