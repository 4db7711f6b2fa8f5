#include "tensor/kernels/decode_attention.h"

#include "tensor/kernels/softmax_row.h"
#include "tensor/simd/unroll.h"

namespace minigpt::MINIGPT_ISA {
namespace {

// scores[0..kKeyGroup) of each of kGroups groups. Even and odd components have sums of their own, so that an addition
// need not wait for the one before.
template <int kGroups, class T>
inline void group_scores(const T* q, const T* keys, int64_t d, T scale, T* scores) {
  using V = Vec<T>;
  constexpr int kVectors = int(kKeyGroup) / V::kWidth;
  V even[kGroups * kVectors], odd[kGroups * kVectors];
  unroll<kGroups * kVectors>([&](auto i) { even[i] = odd[i] = T(0); });
  const auto add = [&](int64_t component, V* sums) {
    const V q_d = q[component];
    unroll<kGroups * kVectors>([&](auto i) {
      const T* key = keys + (i / kVectors * d + component) * kKeyGroup + i % kVectors * V::kWidth;
      sums[i] = fma(q_d, V::load(key), sums[i]);
    });
  };
  int64_t c = 0;
  for (; c + 2 <= d; c += 2) {
    add(c, even);
    add(c + 1, odd);
  }
  if (c < d) add(c, even);
  unroll<kGroups * kVectors>([&](auto i) { ((even[i] + odd[i]) * V(scale)).store(scores + i * V::kWidth); });
}

// out[0..columns) = sum_t weights[t] * values[t * d ..] for up to kVectors vectors of columns.
template <int kVectors, class T>
inline void weighted_sum(const T* weights, const T* values, int64_t length, int64_t d, T factor, T* out) {
  using V = Vec<T>;
  V even[kVectors], odd[kVectors];
  unroll<kVectors>([&](auto i) { even[i] = odd[i] = T(0); });
  const auto add = [&](int64_t t, V* sums) {
    const V weight = weights[t];
    unroll<kVectors>(
        [&](auto i) { sums[i] = fma(weight, V::load(values + t * d + i * V::kWidth), sums[i]); });
  };
  int64_t t = 0;
  for (; t + 2 <= length; t += 2) {
    add(t, even);
    add(t + 1, odd);
  }
  if (t < length) add(t, even);
  unroll<kVectors>([&](auto i) { ((even[i] + odd[i]) * V(factor)).store(out + i * V::kWidth); });
}

template <class T>
void attend(const T* q, const T* keys, const T* values, int64_t length, int64_t d, T scale, T* scores,
            T* out) {
  using V = Vec<T>;
  const int64_t groups = (length + kKeyGroup - 1) / kKeyGroup;
  int64_t group = 0;
  for (; group + 2 <= groups; group += 2)
    group_scores<2>(q, keys + group * d * kKeyGroup, d, scale, scores + group * kKeyGroup);
  if (group < groups) group_scores<1>(q, keys + group * d * kKeyGroup, d, scale, scores + group * kKeyGroup);

  const T shift =
      softmax_shift(row_max<T>(length, [&](int64_t i, auto lanes) { return lanes.load(scores + i); }));
  const double sum = row_sum<T>(length, [&](int64_t i, auto lanes, Vec<T>& total) {
    const V e = exp(lanes.load(scores + i) - shift);
    lanes.store(scores + i, e);
    total += lanes.only(e, T(0));
  });
  // Dividing the result by the sum of the weights is less work than dividing the weights.
  const T factor = softmax_scale<T>(sum);

  int64_t c = 0;
  for (; c + 4 * V::kWidth <= d; c += 4 * V::kWidth)
    weighted_sum<4>(scores, values + c, length, d, factor, out + c);
  for (; c + V::kWidth <= d; c += V::kWidth) weighted_sum<1>(scores, values + c, length, d, factor, out + c);
  for (; c < d; ++c) {
    T total = 0;
    for (int64_t t = 0; t < length; ++t) total += scores[t] * values[t * d + c];
    out[c] = total * factor;
  }
}

}  // namespace

void bind(DecodeAttentionKernels<float>& k) { k.attend = attend<float>; }
void bind(DecodeAttentionKernels<double>& k) { k.attend = attend<double>; }

}  // namespace minigpt::MINIGPT_ISA
