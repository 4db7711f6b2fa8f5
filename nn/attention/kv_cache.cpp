#include "nn/attention/kv_cache.h"

#include <algorithm>
#include <cmath>

#include "tensor/attention.h"
#include "tensor/dispatch.h"
#include "tensor/parallel.h"

namespace minigpt {
namespace {

std::int64_t whole_groups(std::int64_t positions) { return (positions + kKeyGroup - 1) / kKeyGroup; }

// Keys and values that are worth handing to another thread: some 3 microseconds of reading.
constexpr std::int64_t kGrainElements = 16 * 1024;

// One head of one sequence: where its new rows lie in qkv, and where they go.
template <class T>
void append_head(const T* key, const T* value, std::int64_t row_step, std::int64_t first, std::int64_t count,
                 std::int64_t d, T* keys, T* values) {
  for (std::int64_t i = 0; i < count; ++i, key += row_step, value += row_step) {
    const std::int64_t t = first + i;
    std::copy_n(value, d, values + t * d);
    T* column = keys + t / kKeyGroup * d * kKeyGroup + t % kKeyGroup;
    for (std::int64_t c = 0; c < d; ++c) column[c * kKeyGroup] = key[c];
  }
}

}  // namespace

// Keys start as zeros, because whole groups of them are multiplied.
KvCache::Layer::Layer(std::int64_t batch, std::int64_t heads, std::int64_t capacity, std::int64_t channels,
                      DType dtype)
    : keys(zeros({batch, heads, whole_groups(capacity), channels / heads, kKeyGroup}, dtype)),
      values(Tensor::empty({batch, heads, capacity, channels / heads}, dtype)) {
  check(channels % heads == 0, "kv cache", "{} channels cannot be split into {} heads", channels, heads);
}

KvCache::KvCache(std::int64_t n_layer, std::int64_t batch, std::int64_t heads, std::int64_t capacity,
                 std::int64_t channels, DType dtype) {
  for (std::int64_t i = 0; i < n_layer; ++i) layers.emplace_back(batch, heads, capacity, channels, dtype);
}

void KvCache::Layer::append(const Tensor& qkv) {
  const std::int64_t B = values.dim(0), H = values.dim(1), D = values.dim(3), C = H * D, count = qkv.dim(1);
  check(qkv.shape() == Shape{B, count, 3 * C}, "kv cache", "needs ({}, T, {}), got {}", B, 3 * C,
        qkv.shape());
  check(length + count <= capacity(), "kv cache", "{} positions do not fit: {} of {} are used", count, length,
        capacity());
  const Tensor rows = qkv.contiguous();
  visit_floating("kv cache", rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T* from = rows.data<T>();
    T *to_keys = keys.mutable_data<T>(), *to_values = values.mutable_data<T>();
    const std::int64_t head_keys = keys.dim(2) * D * kKeyGroup, head_values = capacity() * D;
    parallel_for(B * H, std::max<std::int64_t>(1, kGrainElements / (count * D)), [&](auto begin, auto end) {
      for (std::int64_t bh = begin; bh < end; ++bh) {
        const T* key = from + bh / H * count * 3 * C + C + bh % H * D;
        append_head(key, key + C, 3 * C, length, count, D, to_keys + bh * head_keys,
                    to_values + bh * head_values);
      }
    });
  });
  length += count;
}

Tensor KvCache::Layer::attend_last(const Tensor& qkv, std::int64_t count) const {
  const std::int64_t B = values.dim(0), H = values.dim(1), D = values.dim(3), C = H * D, given = qkv.dim(1);
  check(count <= given && given <= length, "kv cache", "{} of {} positions, but {} are cached", count, given,
        length);
  const Tensor rows = qkv.contiguous();
  Tensor out = Tensor::empty({B, count, C}, rows.dtype());
  Tensor room = Tensor::empty({B * H * count, whole_groups(length) * kKeyGroup}, rows.dtype());
  visit_floating("kv cache", rows.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const T *queries = rows.data<T>(), *all_keys = keys.data<T>(), *all_values = values.data<T>();
    T *y = out.mutable_data<T>(), *scores = room.mutable_data<T>();
    const std::int64_t head_keys = keys.dim(2) * D * kKeyGroup, head_values = capacity() * D;
    const T scale = static_cast<T>(1 / std::sqrt(static_cast<double>(D)));
    const std::int64_t grain = std::max<std::int64_t>(1, kGrainElements / (2 * length * D));
    // Neighbours are positions of one head, which read the same keys and values.
    parallel_for(B * H * count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t bh = i / count, t = i % count, b = bh / H, h = bh % H;
        const T* q = queries + (b * given + given - count + t) * 3 * C + h * D;
        kernels<T>().decode_attention.attend(q, all_keys + bh * head_keys, all_values + bh * head_values,
                                             length - count + t + 1, D, scale, scores + i * room.dim(1),
                                             y + (b * count + t) * C + h * D);
      }
    });
  });
  return out;
}

Tensor KvCache::Layer::attend(const Tensor& qkv) {
  const bool fresh = length == 0 && qkv.dim(1) > 1;
  append(qkv);
  if (!fresh) return attend_last(qkv, qkv.dim(1));
  const std::int64_t D = values.dim(3);
  return causal_attention(qkv, static_cast<int>(values.dim(1)), 1 / std::sqrt(static_cast<double>(D))).out;
}

}  // namespace minigpt
