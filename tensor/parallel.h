#pragma once
// One thread pool for the whole library.
//
// Threads never change a result: callers split outputs, never a sum. Whoever must split a reduction fixes its
// blocks beforehand and loops over block numbers.
//
// Why not OpenMP: the thread sanitizer cannot see the synchronisation inside libgomp and reports races that
// are not there. This pool is made of standard atomics, which it understands.

#include <atomic>
#include <cstdint>

#include "tensor/function_ref.h"

namespace minigpt {

// Calls fn(begin, end) for ranges that together cover [0, n) exactly once, on several threads.
//
//   parallel_for(rows, 16, [&](int64_t begin, int64_t end) {
//     for (int64_t i = begin; i < end; ++i) y[i] = f(x[i]);
//   });
//
// Every boundary is a multiple of `grain` (except n itself); a range may hold several grains. Choose the
// grain so that one is worth some 10 microseconds: handing work to a thread that is awake costs about one.
// One single call fn(0, n) is made on the calling thread if n <= grain, if there is one thread, or inside
// another parallel_for. The caller works too. Ranges start in rising order; if some of them throw, the
// exception of the lowest one is rethrown here after all running ranges have ended, and ranges above it may
// be skipped.
//
// Two user threads may call this at once: the second finds the pool taken and runs its loop alone.
// A forked child has no workers: it still computes, alone, but has to leave by _exit.
// Throws Error if n < 0 or grain < 1.
inline void parallel_for(std::int64_t n, std::int64_t grain,
                         FunctionRef<void(std::int64_t begin, std::int64_t end)> fn);

// The threads that take part, the calling one included. default_num_threads() until it is set.
int num_threads();

// Sets it; waits for a loop that is running elsewhere. Throws Error unless 1 <= n <= 1024, or inside a
// parallel_for. More threads than cores is allowed: the workers then sleep between loops instead of spinning.
void set_num_threads(int n);

// The CPUs this process may use: its affinity mask, limited by the cgroup's CPU quota rounded up (see
// cpu_limit.h).
int default_num_threads();

// True inside fn of a parallel_for that was split.
bool in_parallel_region();

// For tests: treat every grain as 1, so that even a tensor of two elements is split (boundaries then fall
// anywhere).
void set_force_grain_one(bool on);

namespace detail {

inline std::atomic<bool> force_grain_one{false};
void split_loop(std::int64_t n, std::int64_t grain, FunctionRef<void(std::int64_t, std::int64_t)> fn);

}  // namespace detail

// The loop that is too small to split is inline: operations on small tensors must not pay for the others.
inline void parallel_for(std::int64_t n, std::int64_t grain,
                         FunctionRef<void(std::int64_t begin, std::int64_t end)> fn) {
  if (n > 0 && n <= grain && !detail::force_grain_one.load(std::memory_order_relaxed)) return fn(0, n);
  detail::split_loop(n, grain, fn);
}

// Sets the number of threads until the end of the scope.
class ScopedNumThreads {
 public:
  explicit ScopedNumThreads(int n) : before_(num_threads()) { set_num_threads(n); }
  ~ScopedNumThreads() { set_num_threads(before_); }
  ScopedNumThreads(const ScopedNumThreads&) = delete;
  ScopedNumThreads& operator=(const ScopedNumThreads&) = delete;

 private:
  int before_;
};

// Forces grain 1 until the end of the scope.
class ScopedForceGrainOne {
 public:
  ScopedForceGrainOne() { set_force_grain_one(true); }
  ~ScopedForceGrainOne() { set_force_grain_one(false); }
  ScopedForceGrainOne(const ScopedForceGrainOne&) = delete;
  ScopedForceGrainOne& operator=(const ScopedForceGrainOne&) = delete;
};

}  // namespace minigpt
