// The child's side of worker.h. Lines:
//
//   <- ready FILE TAB VERSION          or  missing
//   -> time WAY M N K LAYOUT DTYPE S   <- seconds per call, or 0 if that cannot be done
//   -> peak DTYPE S                    <- floating-point operations per second

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

class Server {
 public:
  Server(Contender& contender, int threads) : contender_(contender), threads_(threads) {}

  double answer(const std::string& line) {
    std::istringstream words(line);
    std::string what, way;
    Product p;
    double slice = 0;
    words >> what;
    if (what == "peak") {
      words >> p.dtype >> slice;
      return measure_peak(p.dtype, threads_, slice);
    }
    words >> way >> p.m >> p.n >> p.k >> p.layout >> p.dtype >> slice;
    if (!words) return 0;
    if (way != way_ || !(p == product_)) prepare(way, p);
    return multiply_ ? seconds_per_call(slice, multiply_) : 0;
  }

 private:
  void prepare(const std::string& way, const Product& p) {
    if (!(p == product_)) {
      a_ = numbers(p.m * p.k, p.dtype);
      b_ = numbers(p.k * p.n, p.dtype);
      c_ = std::make_unique<Buffer>(static_cast<std::size_t>(p.m * p.n) * sizeof(float));
    }
    multiply_ = contender_.prepare(way, p, {a_->get(), b_->get(), static_cast<float*>(c_->get())});
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
