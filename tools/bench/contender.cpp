#include "tools/bench/contender.h"

#include <dlfcn.h>

#include <bit>
#include <cstdint>
#include <filesystem>

#include "tensor/gemm.h"
#include "tensor/parallel.h"

namespace minigpt::tools {
namespace {

class Minigpt final : public Contender {
 public:
  explicit Minigpt(int threads) { set_num_threads(threads); }

  Multiply prepare(std::string_view, const Product& p, const Operands& operands) override {
    // A model's numbers are f32: in bf16 they are rounded inside the product, and that time counts.
    GemmOptions<float> options;
    if (p.dtype == "bf16") {
      options.precision = Precision::bf16;
      widen(static_cast<const std::uint16_t*>(operands.a), p.m * p.k, a_);
      widen(static_cast<const std::uint16_t*>(operands.b), p.k * p.n, b_);
    }
    return [this, p, operands, options] {
      const bool half = p.dtype == "bf16";
      const float* x = half ? a_.data() : static_cast<const float*>(operands.a);
      const float* y = half ? b_.data() : static_cast<const float*>(operands.b);
      const Matrix<float> a =
          p.transposed_a() ? Matrix<float>{x, p.m, p.k, 1, p.m} : Matrix<float>{x, p.m, p.k, p.k, 1};
      const Matrix<float> b =
          p.transposed_b() ? Matrix<float>{y, p.k, p.n, 1, p.k} : Matrix<float>{y, p.k, p.n, p.n, 1};
      gemm<float>(a, b, operands.c, p.n, options);
    };
  }

 private:
  static void widen(const std::uint16_t* bits, std::int64_t n, std::vector<float>& out) {
    out.resize(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::bit_cast<float>(std::uint32_t{bits[i]} << 16);
  }
  std::vector<float> a_, b_;
};

// The interface that OpenBLAS, BLIS and MKL share. Enumerations are passed as the ints they are.
class Cblas final : public Contender {
 public:
  using Sgemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                         const float* a, int lda, const float* b, int ldb, float beta, float* c, int ldc);
  Cblas(Sgemm sgemm, std::string version) : sgemm_(sgemm), version_(std::move(version)) {}

  Multiply prepare(std::string_view, const Product& p, const Operands& operands) override {
    constexpr int kRowMajor = 101, kNoTranspose = 111, kTranspose = 112;
    if (p.dtype != "f32") return {};
    const int m = static_cast<int>(p.m), n = static_cast<int>(p.n), k = static_cast<int>(p.k);
    const bool ta = p.transposed_a(), tb = p.transposed_b();
    return [=, sgemm = sgemm_] {
      sgemm(kRowMajor, ta ? kTranspose : kNoTranspose, tb ? kTranspose : kNoTranspose, m, n, k, 1.0F,
            static_cast<const float*>(operands.a), ta ? m : k, static_cast<const float*>(operands.b),
            tb ? k : n, 0.0F, operands.c, n);
    };
  }
  std::string version() const override { return version_; }

 private:
  Sgemm sgemm_;
  std::string version_;
};

// What a library says about itself, if it has such a function.
std::string text_from(void* library, const char* function) {
  using Text = const char* (*)();
  const auto text = reinterpret_cast<Text>(::dlsym(library, function));
  return text ? text() : "";
}

}  // namespace

std::unique_ptr<Contender> load_contender(std::string_view name, const std::string& path, int threads) {
  if (name == "minigpt") return std::make_unique<Minigpt>(threads);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  if (name == "onednn") return load_onednn(library);
  const auto sgemm = reinterpret_cast<Cblas::Sgemm>(::dlsym(library, "cblas_sgemm"));
  if (!sgemm) return nullptr;
  return std::make_unique<Cblas>(
      sgemm, text_from(library, name == "blis" ? "bli_info_get_version_str" : "openblas_get_config"));
}

std::vector<std::string> contender_names() { return {"minigpt", "openblas", "blis", "mkl", "onednn"}; }

std::vector<std::string> library_candidates(std::string_view name) {
  if (name == "minigpt") return {""};
  std::vector<std::string> files, folders = {""};
  if (name == "openblas") {
    files = {"libopenblas.so.0"};
    folders = {"", "openblas-pthread", "openblas-openmp"};
  } else if (name == "blis") {
    files = {"libblis.so.4", "libblis.so.3", "libblis.so.2"};
    folders = {"", "blis-pthread", "blis-openmp"};
  } else if (name == "mkl") {
    files = {"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so"};
  } else if (name == "onednn") {
    files = {"libdnnl.so.3", "libdnnl.so.2"};
  }
  std::vector<std::string> found = files;  // as the loader knows them
  for (const char* root : {"/usr/lib/x86_64-linux-gnu/", "/usr/lib/aarch64-linux-gnu/", "/usr/lib64/"}) {
    for (const std::string& folder : folders) {
      for (const std::string& file : files) {
        const std::string path = root + folder + (folder.empty() ? "" : "/") + file;
        std::error_code ignored;
        if (std::filesystem::exists(path, ignored)) found.push_back(path);
      }
    }
  }
  return found;
}

std::vector<std::string> ways(std::string_view name, std::string_view dtype) {
  if (name == "onednn")
    return dtype == "f32" ? std::vector<std::string>{"sgemm", "matmul"}
                          : std::vector<std::string>{"matmul", "packed"};
  if (dtype == "f32" || name == "minigpt") return {"gemm"};
  return {};
}

}  // namespace minigpt::tools
