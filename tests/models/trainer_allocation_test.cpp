// A training step in steady state takes nothing from the system allocator.
//
// Every operator new of the program is counted here, and what Storage takes by itself counts itself. Under the
// address sanitizer nothing is recycled on purpose, so there is nothing to test.

#include "tensor/recycling.h"

#ifndef MINIGPT_ASAN

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "models/trainer.h"
#include "tensor/parallel.h"
#include "tests/models/tiny_models.h"

namespace {

std::atomic<std::int64_t> news{0};

void* counted(void* memory) {
  news.fetch_add(1, std::memory_order_relaxed);
  if (!memory) throw std::bad_alloc();
  return memory;
}

}  // namespace

// Never inline: the compiler would see std::free given what operator new returned, and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  return counted(std::malloc(bytes > 0 ? bytes : 1));
}
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  const auto step = static_cast<std::size_t>(alignment);
  return counted(std::aligned_alloc(step, (bytes + step - 1) / step * step));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace minigpt {
namespace {

using test::random_text;
using test::tiny_run;
using test::TinyData;

// Allocations so far, after each step.
struct AllocationWatch : TrainListener {
  std::vector<std::int64_t> after;
  void on_step(const StepReport&) override { after.push_back(news + memory_stats().system_allocations); }
};

// Runs without evaluations in between and returns how many allocations the last `count` steps made.
std::int64_t allocations_of_last(std::size_t count, TrainConfig config, std::u32string text) {
  config.eval_every = 100000;
  config.save_every = 100000;
  const TinyData tiny(config, std::move(text));
  Trainer trainer(config, tiny.tokenizer, tiny.data);
  AllocationWatch watch;
  watch.after.reserve(static_cast<std::size_t>(config.steps));
  trainer.run(nullptr, watch);
  return watch.after.back() - watch.after[watch.after.size() - 1 - count];
}

// Words of 1 to 12 letters, one a line.
std::u32string random_words(std::size_t lines) {
  std::u32string text;
  for (std::size_t i = 0; i < lines; ++i) text += random_text(1 + i * 7 % 12, i) + U"\n";
  return text;
}

TEST_CASE("the counter counts") {
  const std::int64_t before = news;
  const std::vector<int> numbers(10);
  CHECK(news > before);
}

TEST_CASE("trainer: a step allocates nothing once all sizes have been seen: one document a step") {
  TrainConfig config = preset("names");
  config.steps = 300;
  CHECK(allocations_of_last(200, config, random_words(50)) == 0);
}

TEST_CASE("trainer: a step allocates nothing once all sizes have been seen: windows of a text") {
  // One thread: a worker that sleeps through the first steps makes its workspace whenever it wakes up.
  const ScopedNumThreads one(1);
  TrainConfig config = tiny_run();
  config.steps = 60;
  SUBCASE("with dropout, clipping and decay") {}
  SUBCASE("with accumulated gradients") { config.micro_batches = 3; }
  SUBCASE("with PyTorch's dropout stream") { config.torch_dropout = true; }
  SUBCASE("longer than one block of queries") {
    config.model.block_size = 80;
    config.model.dropout = 0;
    config.model.activation = "gelu_tanh";
  }
  CHECK(allocations_of_last(40, config, random_text(2000)) == 0);
}

}  // namespace
}  // namespace minigpt

#endif
