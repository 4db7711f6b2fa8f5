#pragma once
// Loops over one row, whatever its length: whole vectors first, then the part of one that is left.
//
// A loop body is written once, as a generic lambda, and receives `lanes`: either Whole (every lane counts) or
// Part (only the first few do). It loads and stores through it, and so never touches memory beyond the row.

#include "tensor/simd/vec.h"

namespace minigpt::MINIGPT_ISA {

template <class T>
struct Whole {
  Vec<T> load(const T* p) const { return Vec<T>::load(p); }
  void store(T* p, Vec<T> v) const { v.store(p); }
  Vec<T> only(Vec<T> v, Vec<T>) const { return v; }
};

// 0, 1, 2, ...: compared with a count it gives the mask of the lanes below the count.
template <class T>
inline constexpr T kLaneNumbers[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

template <class T>
struct Part {
  int64_t count;  // lanes that count, 0 < count < width

  Vec<T> load(const T* p) const { return Vec<T>::load_n(p, count); }
  void store(T* p, Vec<T> v) const { v.store_n(p, count); }
  // v in the lanes that count and `rest` in the others.
  Vec<T> only(Vec<T> v, Vec<T> rest) const {
    return select(Vec<T>::load(kLaneNumbers<T>) < Vec<T>(T(count)), v, rest);
  }
};

// Calls body(i, lanes) for the vectors that start at element i and together cover [0, n).
template <class T, class Body>
inline void for_lanes(int64_t n, Body body) {
  int64_t i = 0;
  for (; i + Vec<T>::kWidth <= n; i += Vec<T>::kWidth) body(i, Whole<T>{});
  if (i < n) body(i, Part<T>{n - i});
}

// kSums sums over a row at once: add(i, lanes, Vec<T> (&sums)[kSums]) adds the terms of the vector at element
// i. Lanes that do not count must add 0 (lanes.only(v, 0)).
//
// Two vectors of partial sums are kept, because an addition takes longer than the time between two of them.
// The row is cut into blocks of 64 vectors whose sums are added up in double: a float row of 65537 elements
// is as accurate as a short one.
template <class T, int kSums, class Add>
inline void row_sums(int64_t n, double (&totals)[kSums], Add add) {
  constexpr int64_t kWidth = Vec<T>::kWidth, kBlock = 64 * kWidth;
  for (double& total : totals) total = 0;
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t end = n - start < kBlock ? n : start + kBlock;
    Vec<T> even[kSums], odd[kSums];
    for (int k = 0; k < kSums; ++k) even[k] = odd[k] = Vec<T>(T(0));
    int64_t i = start;
    for (; i + 2 * kWidth <= end; i += 2 * kWidth) {
      add(i, Whole<T>{}, even);
      add(i + kWidth, Whole<T>{}, odd);
    }
    if (i + kWidth <= end) {
      add(i, Whole<T>{}, even);
      i += kWidth;
    }
    if (i < end) add(i, Part<T>{end - i}, odd);
    for (int k = 0; k < kSums; ++k) totals[k] += double(reduce_sum(even[k] + odd[k]));
  }
}

// The same for one sum.
template <class T, class Add>
inline double row_sum(int64_t n, Add add) {
  double total[1];
  row_sums<T>(n, total, [&](int64_t i, auto lanes, Vec<T>(&sums)[1]) { add(i, lanes, sums[0]); });
  return total[0];
}

// Largest of value(i, lanes) over a row; NaN is passed over, so a row of nothing but NaN gives -infinity.
template <class T, class Value>
inline T row_max(int64_t n, Value value) {
  constexpr int64_t kWidth = Vec<T>::kWidth;
  const Vec<T> lowest = -Float<T>::kInfinity;
  Vec<T> even = lowest, odd = lowest;
  int64_t i = 0;
  // max(a, b) is b if either is NaN: the maximum so far stands in the second place.
  for (; i + 2 * kWidth <= n; i += 2 * kWidth) {
    even = max(value(i, Whole<T>{}), even);
    odd = max(value(i + kWidth, Whole<T>{}), odd);
  }
  for_lanes<T>(n - i,
               [&](int64_t j, auto lanes) { even = max(lanes.only(value(i + j, lanes), lowest), even); });
  return reduce_max(max(even, odd));
}

}  // namespace minigpt::MINIGPT_ISA
