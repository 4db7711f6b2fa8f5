#include "tensor/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/cpu_limit.h"
#include "tensor/error.h"

namespace minigpt {

namespace {

using RangeFn = FunctionRef<void(std::int64_t, std::int64_t)>;

// Ranges per thread: more even the load out when one core is slower than another, fewer cost less to hand out (some
// 0.1 microseconds each).
constexpr std::int64_t kRangesPerThread = 16;

// How long a thread waits awake before it sleeps. Waking a sleeper takes 5 to 50 microseconds, and the next
// loop of a training step usually comes sooner than that.
constexpr std::chrono::microseconds kSpin{40};

constexpr int kMaxThreads = 1024;
constexpr std::size_t kCacheLine = 64;

// Outside the pool, because they must be readable without starting it and after it has gone. 0: not set yet.
std::atomic<int> g_num_threads{0};
thread_local bool t_in_region = false;

// Tells the core that this is a waiting loop, which frees it for its hyper-thread.
void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits awake for at most `limit`; the clock is looked at now and then, as it is slower than the flag.
template <class Ready>
bool spin_until(Ready ready, std::chrono::microseconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + limit;
  do {
    for (int i = 0; i < 16; ++i) {
      if (ready()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return ready();
}

// How a loop is handed out:
//
//   1. The caller writes the loop into plain fields, then publishes it by setting `unclaimed_` to the number
//   of ranges.
//   2. Everybody, the caller too, claims a range by lowering `unclaimed_` with a compare-exchange, and only
//   then reads
//      the fields: a loop with a claimed range cannot end, so they cannot change underneath.
//   3. `unfinished_` counts ranges down as they end. At zero the caller returns.
//
// A worker that oversleeps has claimed nothing, so nobody waits for it. That is what keeps seven threads on
// two cores usable.
class Pool {
 public:
  static Pool& instance() {
    static Pool pool;
    return pool;
  }

  // False if another thread is using the pool.
  bool try_run(std::int64_t n, std::int64_t range, RangeFn fn) {
    const std::unique_lock lock(use_, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    start_workers(num_threads());

    fn_ = &fn;
    n_ = n;
    range_ = range;
    ranges_ = (n - 1) / range + 1;
    first_failed_.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
    unfinished_.store(static_cast<std::int32_t>(ranges_), std::memory_order_relaxed);
    unclaimed_.store(ranges_);
    wake(ranges_ - 1);

    t_in_region = true;
    run_ranges();
    t_in_region = false;
    wait_for_ranges();
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    return true;
  }

  void resize(int threads) {
    const std::lock_guard lock(use_);
    stop_workers();  // the next loop starts as many as it needs
    g_num_threads.store(threads);
  }

 private:
  Pool() = default;
  ~Pool() {
    stop_workers();
    g_num_threads.store(1);  // destructors of other static objects may still run loops: on their own thread
  }

  void start_workers(int threads) {
    if (started_) return;
    started_ = true;
    // With more threads than cores, a thread that spins keeps another one from working.
    spin_ = threads > default_num_threads() ? std::chrono::microseconds{0} : kSpin;
    stop_.store(false);
    workers_.reserve(static_cast<std::size_t>(threads));
    try {
      while (static_cast<int>(workers_.size()) < threads - 1) workers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system gives no more threads. Fewer compute the same result.
    }
  }

  void stop_workers() {
    stop_.store(true);
    epoch_.fetch_add(1);
    epoch_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    workers_.clear();
    started_ = false;
  }

  // A worker's life.
  void work() {
    t_in_region = true;
    const auto called = [this] { return unclaimed_.load() > 0 || stop_.load(); };
    while (!stop_.load()) {
      if (spin_until(called, spin_))
        run_ranges();
      else
        sleep_until(called);
    }
  }

  // A wake-up cannot be missed: the sleeper announces itself and then looks for work; the caller publishes
  // work and then looks for sleepers. All four steps are sequentially consistent, so one of the two sees the
  // other.
  template <class Called>
  void sleep_until(Called called) {
    sleepers_.fetch_add(1);
    const std::uint32_t epoch = epoch_.load();
    if (!called()) epoch_.wait(epoch);
    sleepers_.fetch_sub(1);
  }

  // Wakes up to `wanted` sleepers; the others stay asleep, a wake-up costs the caller a system call.
  void wake(std::int64_t wanted) {
    const std::int64_t sleepers = sleepers_.load();
    if (sleepers == 0) return;
    epoch_.fetch_add(1);
    if (wanted >= sleepers) return epoch_.notify_all();
    for (std::int64_t i = 0; i < wanted; ++i) epoch_.notify_one();
  }

  void run_ranges() {
    std::int64_t unclaimed = unclaimed_.load();
    while (unclaimed > 0) {
      if (!unclaimed_.compare_exchange_weak(unclaimed, unclaimed - 1)) continue;
      run_range(ranges_ - unclaimed);
      if (unfinished_.fetch_sub(1) == 1) unfinished_.notify_one();
      unclaimed = unclaimed_.load();
    }
  }

  // Ranges below a failed one still run, so which exception is reported does not depend on timing.
  void run_range(std::int64_t index) {
    if (index > first_failed_.load()) return;
    try {
      (*fn_)(index * range_, std::min(n_, (index + 1) * range_));
    } catch (...) {
      const std::lock_guard lock(error_mutex_);
      if (index > first_failed_.load()) return;
      first_failed_.store(index);
      error_ = std::current_exception();
    }
  }

  void wait_for_ranges() {
    if (spin_until([this] { return unfinished_.load() == 0; }, spin_)) return;
    while (const std::int32_t left = unfinished_.load()) unfinished_.wait(left);
  }

  std::mutex use_;  // held by the caller for the whole loop

  // The loop in hand: written before unclaimed_ is published, read only with a claimed range.
  const RangeFn* fn_ = nullptr;
  std::int64_t n_ = 0, range_ = 0, ranges_ = 0;

  // One cache line each: workers hammer the first while others count down the second.
  alignas(kCacheLine) std::atomic<std::int64_t> unclaimed_{0};
  alignas(kCacheLine) std::atomic<std::int32_t> unfinished_{0};
  alignas(kCacheLine) std::atomic<std::uint32_t> epoch_{0};  // changes whenever sleepers are called
  std::atomic<std::int64_t> sleepers_{0};
  std::atomic<bool> stop_{false};

  std::atomic<std::int64_t> first_failed_{0};
  std::mutex error_mutex_;
  std::exception_ptr error_;

  bool started_ = false;
  std::chrono::microseconds spin_{0};
  std::vector<std::thread> workers_;
};

}  // namespace

void detail::split_loop(std::int64_t n, std::int64_t grain, RangeFn fn) {
  check(n >= 0, "parallel_for", "n must not be negative, got {}", n);
  check(grain >= 1, "parallel_for", "grain must be at least 1, got {}", grain);
  if (force_grain_one.load(std::memory_order_relaxed)) grain = 1;
  if (n == 0) return;
  if (n <= grain || t_in_region) return fn(0, n);
  const int threads = num_threads();
  if (threads == 1) return fn(0, n);

  const std::int64_t grains = (n - 1) / grain + 1;
  const std::int64_t grains_per_range = (grains - 1) / (kRangesPerThread * threads) + 1;
  if (!Pool::instance().try_run(n, grains_per_range * grain, fn)) fn(0, n);
}

int num_threads() {
  const int n = g_num_threads.load(std::memory_order_relaxed);
  return n > 0 ? n : default_num_threads();
}

void set_num_threads(int n) {
  check(n >= 1 && n <= kMaxThreads, "set_num_threads", "must be in [1, {}], got {}", kMaxThreads, n);
  check(!t_in_region, "set_num_threads", "cannot be called inside parallel_for");
  if (n != num_threads()) Pool::instance().resize(n);
}

int default_num_threads() {
  static const int cpus = [] {
    std::ifstream file("/proc/self/cgroup");
    const std::string membership{std::istreambuf_iterator<char>(file), {}};
    const int quota = detail::cpus_in_cgroup_quota(membership, "/sys/fs/cgroup");
    const int mask = detail::cpus_in_affinity_mask();
    return std::min(kMaxThreads, quota > 0 ? std::min(quota, mask) : mask);
  }();
  return cpus;
}

bool in_parallel_region() { return t_in_region; }

void set_force_grain_one(bool on) { detail::force_grain_one.store(on); }

}  // namespace minigpt
