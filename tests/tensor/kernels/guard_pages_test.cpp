// Every kernel of every instruction set of this machine, at lengths around the vector widths, on arrays that end just
// before a page that nobody may touch, and on arrays that begin just behind one.
//
// The functions that work on whole tensors loop in plain C++, and tensors have no memory to spare under the address
// sanitizer (tensor/recycling.h): it watches those. Functions on plain memory have their turn at the end of this file.
#include <cstring>

#include "tensor/dropout_mask.h"
#include "tensor/gemm.h"
#include "tensor/gemm_packed.h"
#include "tensor/generator.h"
#include "tensor/optimizer_kernels.h"
#include "tests/tensor/kernels/guard_pages.h"
#include "tests/tensor/row_testing.h"

using namespace minigpt;
using namespace minigpt::testing;

namespace {

constexpr Edge kEdges[] = {Edge::end, Edge::begin};

// The table that holds a word of KernelSet.
std::string owner(std::size_t word) {
  const auto* at = reinterpret_cast<const char*>(&kernel_set()) + word * GuardPages::kWord;
  std::string found = "KernelSet";
  const auto look = [&](const auto& table, const char* name) {
    const auto* begin = reinterpret_cast<const char*>(&table);
    if (at >= begin && at < begin + sizeof table) found = name;
  };
  const auto look_into = [&](const auto& k) {
    look(k.gemm, "GemmKernels");
    look(k.unary, "UnaryKernels");
    look(k.binary, "BinaryKernels");
    look(k.reduce, "ReduceKernels");
    look(k.attention, "AttentionKernels");
    look(k.loss, "LossKernels");
    look(k.norms, "NormsKernels");
    look(k.optimizer, "OptimizerKernels");
    look(k.peak, "PeakKernels");
    look(k.rows, "RowsKernels");
    look(k.gemv, "GemvKernels");
    look(k.decode_attention, "DecodeAttentionKernels");
  };
  look_into(kernel_set().f32);
  look_into(kernel_set().f64);
  look(kernel_set().gemm_bf16, "gemm_bf16");
  look(kernel_set().peak_bf16, "peak_bf16");
  return found;
}

void report(const GuardPages& pages) {
  for (std::size_t i = 0; i < pages.faults.size() && i < 10; ++i) FAIL_CHECK(pages.faults[i]);
  CHECK(pages.faults.size() == 0);
}

}  // namespace

TEST_CASE("kernels touch nothing beyond their arrays, and no kernel of the table goes untested") {
  for_each_kernel_set([] {
    for (const Edge edge : kEdges) {
      GuardPages pages(edge);
      pages.covered(kernel_set().name);
      guard_rows<float>(pages);
      guard_products<float>(pages);
      pages.type = "double";
      guard_rows<double>(pages);
      guard_products<double>(pages);
      pages.type = "bf16";
      guard_gemm(pages, kernel_set().gemm_bf16);
      pages.covered(kernel_set().peak_bf16.multiply_add);
      pages.covered(kernel_set().peak_bf16.operations);
      report(pages);
      CHECK(pages.runs > 10000);
      for (std::size_t word = 0; word < pages.seen.size(); ++word)
        CHECK_MESSAGE(pages.seen[word], "an entry of " << owner(word) << " has no test here (word " << word
                                                       << " of the table)");
    }
  });
}

TEST_CASE("matrix products on plain memory: every layout, packed or not") {
  const ScopedNumThreads one(1);  // a fault must come up in this thread
  for_each_kernel_set([] {
    for (const Edge edge : kEdges) {
      GuardPages pages(edge);
      for (const std::int64_t m : {1, 2, 5, 13, 25})
        for (const std::int64_t n : {1, 7, 17, 33, 47})
          for (const std::int64_t k : {1, 3, 16, 19, 67})
            for (int variant = 0; variant < 8; ++variant) {
              const bool ta = variant & 1, tb = variant & 2;
              const Precision precision = variant & 4 ? Precision::bf16 : Precision::full;
              const auto operands = [&](auto product) {
                const float *a = pages.memory.input<float>("a", m * k),
                            *b = pages.memory.input<float>("b", k * n);
                float* c = pages.memory.output<float>("c", m * n);
                const Matrix<float> x = ta ? Matrix<float>{a, m, k, 1, m} : Matrix<float>{a, m, k, k, 1};
                const Matrix<float> y = tb ? Matrix<float>{b, k, n, 1, k} : Matrix<float>{b, k, n, n, 1};
                GemmOptions<float> options;
                options.precision = precision;
                options.bias = pages.memory.input<float>("bias", n);
                pages.run(kernel_set().f32.gemm.block, "gemm",
                          {{"m", m}, {"n", n}, {"k", k}, {"variant", variant}},
                          [&] { product(x, y, c, options); });
              };
              operands([&](const auto& x, const auto& y, float* c, const auto& options) {
                gemm<float>(x, y, c, n, options);
              });
              operands([&](const auto& x, const auto& y, float* c, const auto& options) {
                PackedFactor<float>(y, precision).multiply(x, c, n, options);
              });
            }
      report(pages);
    }
  });
}

TEST_CASE("random numbers, keep bits and optimiser steps on plain memory") {
  const ScopedNumThreads one(1);
  for (const Edge edge : kEdges) {
    GuardPages pages(edge);
    const auto& entry = kernel_set().name;  // no kernel of the table
    Generator rng(1);
    for (const std::int64_t n : guarded_lengths()) {
      auto* words = pages.memory.output<std::uint32_t>("words", (n + 31) / 32);
      pages.run(entry, "philox_keep_bits", {{"n", n}}, [&] { philox_keep_bits(words, n, 0.3, PhiloxKey{}); });
      words = pages.memory.output<std::uint32_t>("words", (n + 31) / 32);
      pages.run(entry, "torch_keep_bits", {{"n", n}}, [&] { torch_keep_bits(rng, words, n, 0.3); });
      words = pages.memory.output<std::uint32_t>("words", n);
      pages.run(entry, "philox_keep_words", {{"n", n}},
                [&] { philox_keep_words(words, 3, n, 0.3, PhiloxKey{}); });
      const float* g = pages.memory.input<float>("g", n);
      float *w = pages.memory.output<float>("w", n), *m = pages.memory.output<float>("m", n);
      float* v = pages.memory.output<float>("v", n);
      pages.run(entry, "adamw_step", {{"n", n}}, [&] { adamw_step(w, g, m, v, n, AdamStep{}); });
    }
    report(pages);
  }
}

TEST_CASE("the test finds what it is for, and says where") {
  for (const Edge edge : kEdges) {
    GuardedMemory memory(edge);
    const auto fault = [&](auto touch) {
      const auto* x = memory.input<float>("x", 17);
      auto* y = memory.output<float>("y", 17);
      return memory.fault_of([&] { touch(x, y); });
    };
    CHECK(fault([](const float* x, float* y) { std::memcpy(y, x, 17 * sizeof(float)); }) == "");
    CHECK(fault([](const float* x, float*) { const_cast<float*>(x)[3] = 1; }) ==
          "writes the input x[3] of 17");
    // Volatile, so that the access is made as it stands.
    const std::int64_t beyond = edge == Edge::end ? 17 : -1;
    const std::string where = "[" + std::to_string(beyond) + "] of 17";
    CHECK(fault([&](const float* x, float*) { (void)static_cast<const volatile float*>(x)[beyond]; }) ==
          "reads or writes x" + where);
    CHECK(fault([&](const float*, float* y) { static_cast<volatile float*>(y)[beyond] = 1; }) ==
          "reads or writes y" + where);
  }
}
