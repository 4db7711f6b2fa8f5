#include "tensor/parallel.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tensor/error.h"

using namespace minigpt;

namespace {

// How often each index was visited by a parallel_for.
std::vector<int> visits(std::int64_t n, std::int64_t grain) {
  std::vector<int> count(static_cast<std::size_t>(n));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) ++count[static_cast<std::size_t>(i)];
  });
  return count;
}

// The ranges a parallel_for hands out, sorted.
std::set<std::pair<std::int64_t, std::int64_t>> ranges(std::int64_t n, std::int64_t grain) {
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  std::mutex mutex;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const std::lock_guard lock(mutex);
    CHECK(seen.emplace(begin, end).second);
  });
  return seen;
}

}  // namespace

TEST_CASE("parallel_for visits every index exactly once, for any number of threads") {
  for (const int threads : {1, 2, 3, 7}) {
    const ScopedNumThreads scope(threads);
    for (const std::int64_t n : {0, 1, 2, 3, 15, 16, 17, 1000, 4099})
      for (const std::int64_t grain : {1, 2, 16, 5000}) {
        CAPTURE(threads);
        CAPTURE(n);
        CAPTURE(grain);
        const std::vector<int> count = visits(n, grain);
        CHECK(std::all_of(count.begin(), count.end(), [](int c) { return c == 1; }));
      }
  }
}

TEST_CASE("parallel_for cuts at multiples of the grain") {
  const ScopedNumThreads scope(2);
  const auto seen = ranges(1003, 10);
  CHECK(seen.size() > 1);
  CHECK(seen.size() <= 32);  // sixteen ranges per thread: enough to even out, few enough to be cheap
  for (const auto& [begin, end] : seen) {
    CHECK(begin % 10 == 0);
    CHECK((end % 10 == 0 || end == 1003));
  }
}

TEST_CASE("parallel_for makes one call on the calling thread when splitting is not worth it") {
  const auto here = std::this_thread::get_id();
  const auto check_one_call = [&](std::int64_t n, std::int64_t grain) {
    int calls = 0;
    parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
      ++calls;
      CHECK(begin == 0);
      CHECK(end == n);
      CHECK(std::this_thread::get_id() == here);
    });
    CHECK(calls == 1);
  };
  SUBCASE("n does not exceed the grain") {
    const ScopedNumThreads scope(4);
    check_one_call(16, 16);
  }
  SUBCASE("one thread") {
    const ScopedNumThreads scope(1);
    check_one_call(1000, 1);
  }
}

TEST_CASE("parallel_for inside parallel_for runs on the thread that called it") {
  const ScopedNumThreads scope(3);
  CHECK_FALSE(in_parallel_region());
  std::atomic<int> inner_calls{0}, outer_calls{0};
  parallel_for(12, 1, [&](std::int64_t, std::int64_t) {
    ++outer_calls;
    CHECK(in_parallel_region());
    const auto thread = std::this_thread::get_id();
    parallel_for(1000, 1, [&](std::int64_t begin, std::int64_t end) {
      ++inner_calls;
      CHECK(end - begin == 1000);
      CHECK(std::this_thread::get_id() == thread);
    });
  });
  CHECK(inner_calls == outer_calls);
  CHECK_FALSE(in_parallel_region());
}

TEST_CASE("force_grain_one splits even two elements") {
  const ScopedNumThreads scope(2);
  CHECK(ranges(2, 4096).size() == 1);
  {
    const ScopedForceGrainOne force;
    CHECK(ranges(2, 4096).size() == 2);
  }
  CHECK(ranges(2, 4096).size() == 1);
}

TEST_CASE("the exception of the lowest failing range reaches the caller, whatever the timing") {
  for (const int threads : {1, 2, 7}) {
    const ScopedNumThreads scope(threads);
    for (int repeat = 0; repeat < 100; ++repeat) {
      std::string text;
      try {
        parallel_for(100, 1, [](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i)
            if (i >= 30) throw std::runtime_error(std::to_string(i));
        });
      } catch (const std::runtime_error& error) {
        text = error.what();
      }
      CHECK(text == "30");
    }
    CHECK(visits(100, 1) == std::vector<int>(100, 1));  // the pool is as good as new
  }
}

TEST_CASE("several user threads may run loops at once") {
  const ScopedNumThreads scope(3);
  std::vector<std::thread> users;
  std::atomic<int> wrong{0};
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      for (int repeat = 0; repeat < 200; ++repeat)
        if (visits(100, 1) != std::vector<int>(100, 1)) ++wrong;
    });
  for (std::thread& user : users) user.join();
  CHECK(wrong == 0);
}

TEST_CASE("workers that have gone to sleep are woken, and changing their number is safe at any time") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    const ScopedNumThreads scope(1 + repeat % 5);
    CHECK(visits(64, 1) == std::vector<int>(64, 1));
    std::this_thread::sleep_for(std::chrono::microseconds(200));  // longer than a worker stays awake
    CHECK(visits(64, 1) == std::vector<int>(64, 1));
  }
}

TEST_CASE("work is shared: a range that waits for another one does not block the loop") {
  const ScopedNumThreads scope(2);
  std::atomic<int> started{0};
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    ++started;
    while (started < 2) std::this_thread::yield();  // ends only if a second thread takes the second range
  });
  CHECK(started == 2);
}

TEST_CASE("the number of threads is validated") {
  const int before = num_threads();
  CHECK(default_num_threads() >= 1);
  CHECK_THROWS_WITH_AS(set_num_threads(0), "[set_num_threads] must be in [1, 1024], got 0", Error);
  CHECK_THROWS_WITH_AS(set_num_threads(1025), "[set_num_threads] must be in [1, 1024], got 1025", Error);
  CHECK(num_threads() == before);
  {
    const ScopedNumThreads scope(5);
    CHECK(num_threads() == 5);
    CHECK_THROWS_AS(parallel_for(10, 1, [](std::int64_t, std::int64_t) { set_num_threads(2); }), Error);
  }
  CHECK(num_threads() == before);
}

TEST_CASE("parallel_for refuses a negative size and a grain below one") {
  const auto nothing = [](std::int64_t, std::int64_t) {};
  CHECK_THROWS_WITH_AS(parallel_for(-1, 1, nothing), "[parallel_for] n must not be negative, got -1", Error);
  CHECK_THROWS_WITH_AS(parallel_for(1, 0, nothing), "[parallel_for] grain must be at least 1, got 0", Error);
}
