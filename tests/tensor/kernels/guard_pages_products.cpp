// Matrix products and attention, each on arrays that touch a guard page.
#include "tests/tensor/kernels/guard_pages.h"

namespace minigpt::testing {
namespace {

std::int64_t round_up(std::int64_t n, std::int64_t unit) { return (n + unit - 1) / unit * unit; }

// Elements from the first to the last of `count` rows of n, `step` apart.
std::int64_t extent(std::int64_t count, std::int64_t step, std::int64_t n) {
  return count == 0 || n == 0 ? 0 : (count - 1) * step + n;
}

constexpr Activation kActivations[] = {Activation::none, Activation::relu,     Activation::relu_squared,
                                       Activation::silu, Activation::gelu_erf, Activation::gelu_tanh};

template <class T>
void guard_pack(GuardPages& pages, const GemmKernels<T>& k) {
  for (const std::int64_t width : {k.row_tile, k.column_tile})
    for (const std::int64_t count : {std::int64_t{1}, width - 1, width, width + 1, 2 * width + 3})
      for (const std::int64_t depth : {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 35})
        for (const std::int64_t gap : {0, 3})
          for (int layout = 0; layout < 3; ++layout) {
            if (count < 1) continue;
            // Neighbours along the count, neighbours along the depth, and neither.
            const std::int64_t stride = layout == 0 ? 1 : layout == 1 ? depth + gap : 2;
            const std::int64_t depth_stride = layout == 0 ? count + gap : layout == 1 ? 1 : 2 * count + gap;
            const T* x = pages.memory.input<T>("x", (count - 1) * stride + (depth - 1) * depth_stride + 1);
            T* out = pages.memory.output<T>(
                "out", round_up(count, width) * (round_up(depth, k.depth_unit) / k.depth_unit));
            pages.run(k.pack, "pack",
                      {{"width", width},
                       {"count", count},
                       {"depth", depth},
                       {"stride", stride},
                       {"depth_stride", depth_stride}},
                      [&] { k.pack(width, count, depth, x, stride, depth_stride, out); });
          }
}

// One block, with A and B packed or where they are, and every way out.
template <class T>
void guard_block(GuardPages& pages, const GemmKernels<T>& k, std::int64_t m, std::int64_t n,
                 std::int64_t depth, bool packed_a, bool packed_b, int variant) {
  const bool accumulate = variant == 1, has_bias = variant >= 2;
  const Activation activation = has_bias ? kActivations[variant % 6] : Activation::none;
  const std::int64_t gap = variant % 2 * 3, lda = depth + gap, ldb = n + gap, ldc = n + gap;
  GemmBlock<T> g{};
  g.m = m, g.n = n, g.k = depth;
  g.a = pages.memory.input<T>("a", packed_a ? round_up(m, k.row_tile) * depth : extent(m, lda, depth));
  g.a_tile = packed_a ? k.row_tile * depth : k.row_tile * lda;
  g.a_row = packed_a ? 1 : lda;
  g.a_depth = packed_a ? k.row_tile : 1;
  g.b = pages.memory.input<T>("b", packed_b ? round_up(n, k.column_tile) * depth : extent(depth, ldb, n));
  g.b_panel = packed_b ? k.column_tile * depth : k.column_tile;
  g.b_depth = packed_b ? k.column_tile : ldb;
  g.c = pages.memory.output<T>("c", extent(m, ldc, n));
  g.ldc = ldc;
  g.accumulate = accumulate;
  g.bias = has_bias ? pages.memory.input<T>("bias", n) : nullptr;
  g.activation = activation;
  g.kept = activation != Activation::none && variant % 2 ? pages.memory.output<T>("kept", extent(m, ldc, n))
                                                         : nullptr;
  pages.run(k.block, "block",
            {{"m", m},
             {"n", n},
             {"k", depth},
             {"packed_a", packed_a},
             {"packed_b", packed_b},
             {"variant", variant}},
            [&] { k.block(g); });
}

template <class T>
void guard_activations(GuardPages& pages, const GemmKernels<T>& k) {
  for (const std::int64_t n : guarded_lengths()) {
    for (const std::int64_t m : {1, 3}) {
      for (const Activation f : kActivations) {
        const std::int64_t ldc = n + 2;
        T *c = pages.memory.output<T>("c", extent(m, ldc, n)),
          *kept = pages.memory.output<T>("kept", extent(m, ldc, n));
        pages.run(k.activate, "activate", {{"m", m}, {"n", n}, {"f", static_cast<int>(f)}},
                  [&] { k.activate(f, m, n, c, kept, ldc); });
        if (f == Activation::none) continue;
        const T *z = pages.memory.input<T>("z", n), *dy = pages.memory.input<T>("dy", n);
        T *y = m == 1 ? nullptr : pages.memory.output<T>("y", n), *dz = pages.memory.output<T>("dz", n);
        pages.run(k.activate_backward, "activate_backward", {{"n", n}, {"f", static_cast<int>(f)}},
                  [&] { k.activate_backward(f, n, z, dy, y, dz); });
      }
    }
  }
}

template <class T>
void guard_row(GuardPages& pages, const GemmKernels<T>& k) {
  pages.covered(k.row);
  if (!k.row) return;
  for (const std::int64_t n : guarded_lengths())
    for (const std::int64_t depth : {0, 1, 3, 8, 17, 31})
      for (const std::int64_t gap : {0, 3})
        for (const bool transposed : {false, true}) {
          const std::int64_t b_depth = transposed ? 1 : n + gap, b_column = transposed ? depth + gap : 1;
          if (n == 0 || (transposed && b_column <= 1)) continue;
          const T* x = pages.memory.input<T>("x", depth);
          const T* b =
              pages.memory.input<T>("b", transposed ? extent(n, b_column, depth) : extent(depth, b_depth, n));
          T* y = pages.memory.output<T>("y", n);
          pages.run(k.row, "row", {{"n", n}, {"k", depth}, {"b_depth", b_depth}, {"b_column", b_column}},
                    [&] { k.row(n, depth, x, b, b_depth, b_column, y, gap > 0); });
        }
}

template <class T>
void guard_gemv(GuardPages& pages) {
  const GemvKernels<T>& k = kernels<T>().gemv;
  const auto all = [&](const auto& f, const char* name, auto* weight_type) {
    using Weight = std::remove_const_t<std::remove_pointer_t<decltype(weight_type)>>;
    pages.covered(f);
    if (!f) return;
    for (const std::int64_t rows : {1, 2, 3, 4, 7})
      for (const std::int64_t n : {0, 1, 2, 7, 8, 9, 15, 16, 17, 33})
        for (const std::int64_t depth : guarded_lengths()) {
          if (n * depth > 20000) continue;
          const std::int64_t y_step = n + rows % 3;
          GemvBlock<T> g{rows,   n,     depth, pages.memory.input<T>("x", rows * depth), nullptr, nullptr,
                         y_step, false, false};
          const Weight* w = pages.memory.input<Weight>("w", n * depth);
          if (n % 2) g.bias = pages.memory.input<T>("bias", n);
          g.y = pages.memory.output<T>("y", extent(rows, y_step, n));
          g.accumulate = depth % 2 == 0;
          g.far = depth % 3 == 0;
          pages.run(f, name, {{"rows", rows}, {"n", n}, {"k", depth}}, [&] { f(g, w); });
        }
  };
  all(k.full, "gemv", static_cast<T*>(nullptr));
  all(k.bf16, "gemv of bf16", static_cast<std::uint16_t*>(nullptr));
}

template <class T>
void guard_attention(GuardPages& pages) {
  const AttentionKernels<T>& k = kernels<T>().attention;
  for (const std::int64_t first : {0, 1, 6, 13, 31, 32, 64})
    for (const std::int64_t rows : {1, 2, 5, 17, 33})
      for (const std::int64_t gap : {0, 3})
        for (const std::int64_t bit : {-1, 0, 5, 31}) {  // -1: no dropout
          AttentionBlock<T> b{};
          b.first = first, b.rows = rows, b.cols = first + rows, b.ld = b.cols + gap;
          b.scale = T(0.25), b.keep_scale = T(1.25);
          b.bit = bit, b.bit_step = b.cols + 7;
          const std::int64_t scores = extent(rows, b.ld, b.cols);
          // The last bit that counts belongs to the last key of the last row.
          const std::int64_t words = (bit + (rows - 1) * b.bit_step + b.cols + 31) / 32;
          const auto dropout = [&] {
            if (bit < 0) return;
            b.words = pages.memory.input<std::uint32_t>("words", words,
                                                        [](std::int64_t i) { return 2654435761u * i; });
            b.factors = pages.memory.output<T>("factors", b.cols + 32);
          };
          const GuardPages::Sizes sizes = {{"first", first}, {"rows", rows}, {"ld", b.ld}, {"bit", bit}};
          {
            dropout();
            T *s = pages.memory.output<T>("scores", scores),
              *stats = pages.memory.output<T>("stats", 2 * rows);
            pages.run(k.forward, "attention forward", sizes, [&] { k.forward(b, s, stats); });
          }
          {
            dropout();
            T *s = pages.memory.output<T>("scores", scores), *dp = pages.memory.output<T>("dp", scores);
            const T *stats = pages.memory.input<T>("stats", 2 * rows),
                    *delta = pages.memory.input<T>("delta", rows);
            pages.run(k.backward, "attention backward", sizes, [&] { k.backward(b, s, dp, stats, delta); });
          }
        }
  for (const std::int64_t n : guarded_lengths())
    for (const std::int64_t rows : {1, 3})
      for (const std::int64_t gap : {0, 5}) {
        const std::int64_t count = extent(rows, n + gap, n);
        const T *a = pages.memory.input<T>("a", count), *b = pages.memory.input<T>("b", count);
        T* out = pages.memory.output<T>("out", rows);
        pages.run(k.row_dots, "row_dots", {{"rows", rows}, {"n", n}, {"ld", n + gap}},
                  [&] { k.row_dots(a, b, n + gap, rows, n, out); });
        const T* x = pages.memory.input<T>("x", count);
        pages.run(k.all_finite, "attention all_finite", {{"rows", rows}, {"n", n}, {"ld", n + gap}},
                  [&] { (void)k.all_finite(x, n + gap, rows, n); });
      }
}

template <class T>
void guard_decode(GuardPages& pages) {
  const DecodeAttentionKernels<T>& k = kernels<T>().decode_attention;
  for (const std::int64_t d : {1, 3, 4, 7, 8, 9, 16, 31, 32, 33, 65})
    for (std::int64_t length = 1; length <= 2 * kKeyGroup + 1; ++length) {
      const std::int64_t positions = round_up(length, kKeyGroup);
      const T *q = pages.memory.input<T>("q", d), *keys = pages.memory.input<T>("keys", positions * d);
      const T* values = pages.memory.input<T>("values", length * d);
      T *scores = pages.memory.output<T>("scores", positions), *out = pages.memory.output<T>("out", d);
      pages.run(k.attend, "decode attention", {{"length", length}, {"d", d}},
                [&] { k.attend(q, keys, values, length, d, T(0.5), scores, out); });
    }
}

}  // namespace

template <class T>
void guard_gemm(GuardPages& pages, const GemmKernels<T>& k) {
  for (const std::int64_t* size : {&k.row_tile, &k.column_tile, &k.row_block, &k.depth_block, &k.depth_unit})
    pages.covered(*size);
  pages.covered(k.packed_only);

  guard_pack(pages, k);
  const std::int64_t rows = k.row_tile, columns = k.column_tile;
  for (const std::int64_t m : {std::int64_t{1}, std::int64_t{3}, rows - 1, rows, rows + 1, 2 * rows + 7})
    for (std::int64_t n = 1; n <= 2 * columns + 1; n += n < columns - 1 ? 3 : 1)
      for (const std::int64_t depth : {1, 2, 17}) {
        const int variant = static_cast<int>((m + n + depth) % 8);
        guard_block(pages, k, m, n, depth, true, true, variant);
        if (k.packed_only) continue;
        guard_block(pages, k, m, n, depth, false, true, variant);
        guard_block(pages, k, m, n, depth, true, false, variant);
        guard_block(pages, k, m, n, depth, false, false, variant);
      }
  guard_activations(pages, k);
  guard_row(pages, k);
}

template <class T>
void guard_products(GuardPages& pages) {
  guard_gemm<T>(pages, kernels<T>().gemm);
  guard_gemv<T>(pages);
  guard_attention<T>(pages);
  guard_decode<T>(pages);
  pages.covered(kernels<T>().peak.multiply_add);  // works on registers alone
  pages.covered(kernels<T>().peak.operations);
}

template void guard_gemm<float>(GuardPages&, const GemmKernels<float>&);
template void guard_products<float>(GuardPages&);
template void guard_products<double>(GuardPages&);

}  // namespace minigpt::testing
