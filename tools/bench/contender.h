#pragma once
// Libraries that multiply matrices, found when the program runs: nothing is linked.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt::tools {

// One product C = op(A) op(B): C is (m, n), the sum has k terms. All matrices are dense and row-major; "NT" has B
// stored as (n, k), "TN" has A stored as (k, m).
struct Product {
  std::int64_t m = 0, n = 0, k = 0;
  std::string layout = "NN";
  std::string dtype = "f32";

  bool transposed_a() const { return layout[0] == 'T'; }
  bool transposed_b() const { return layout[1] == 'T'; }
  double operations() const {
    return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  }
  bool operator==(const Product&) const = default;
};

// The operands of a product, float or bfloat16 numbers in [-1, 1]; c is float.
struct Operands {
  const void* a;
  const void* b;
  float* c;
};

// Makes the product whenever it is called.
using Multiply = std::function<void()>;

// A library, loaded. `prepare` may pack and plan; it returns an empty function for what it cannot do. `way` is one of
// ways(): a library with several entries is timed through each, and the best counts.
class Contender {
 public:
  virtual ~Contender() = default;
  virtual Multiply prepare(std::string_view way, const Product& product, const Operands& operands) = 0;
  virtual std::string version() const { return ""; }
};

// The library at `path` ("" for minigpt itself), loaded into this process; null if it is not there, or does not have
// what is needed. Loading may start threads, so every library gets a process of its own.
std::unique_ptr<Contender> load_contender(std::string_view name, const std::string& path, int threads);
std::unique_ptr<Contender> load_onednn(void* library);

// "minigpt", "openblas", "blis", "mkl", "onednn".
std::vector<std::string> contender_names();
// Where to look for a library: names for the dynamic loader, then files in Debian's folders for alternative builds.
std::vector<std::string> library_candidates(std::string_view name);
// The entries of a library for products of this type of number; none if it cannot make them.
std::vector<std::string> ways(std::string_view name, std::string_view dtype);

}  // namespace minigpt::tools
