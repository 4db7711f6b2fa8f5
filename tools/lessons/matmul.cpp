#include "tensor/matmul.h"

#include <cmath>
#include <functional>

#include "tensor/arithmetic.h"
#include "tensor/dispatch.h"
#include "tensor/generator.h"
#include "tensor/parallel.h"
#include "tensor/reduce.h"
#include "tensor/unary.h"
#include "tools/bench/clock.h"
#include "tools/bench/peak.h"
#include "tools/lessons/lessons.h"
#include "tools/lessons/plain_matmul.h"

namespace minigpt::lessons {
namespace {

Tensor random_matrix(Generator& rng) {
  Tensor t = Tensor::empty({kN, kN});
  rng.uniform(std::span(t.mutable_data<float>(), static_cast<std::size_t>(t.numel())), -1, 1);
  return t;
}

// Puts the kernel set back that was in use.
struct KernelSetGuard {
  std::string before = kernel_set().name;
  ~KernelSetGuard() { use_kernel_set(before); }
};

}  // namespace

void matmul(Page& page) {
  page.heading({"The matrix product, rung by rung", "矩阵乘法：一级一级往上爬"});
  page.say(
      {"Nearly all the time of training a GPT goes into C = A B. Here A, B and C have {0} x {0} numbers: "
       "each number of C is a sum of {0} "
       "products, {1:.3f} billion multiplications and additions altogether. The same product is computed in "
       "several ways, on one "
       "thread until the last rung. GFLOP/s are billions of those operations per second.",
       "训练 GPT 的时间几乎都花在 C = A B 上。这里 A、B、C 各有 {0} x {0} 个数：C 的每个数是 {0} 个乘积之和，"
       "总共 {1:.3f} 十亿次乘法和加法。下面用几种方法算同一个乘积，最后一级之前都只用一个线程。GFLOP/s "
       "指每秒多少十亿次运算。"},
      kN, 1e-9 * kOperations);
  Generator rng(page.seed_or(1));
  const Tensor a = random_matrix(rng), b = random_matrix(rng);
  Tensor c = zeros({kN, kN}), reference = zeros({kN, kN});
  naive(a.data<float>(), b.data<float>(), reference.mutable_data<float>());

  const KernelSetGuard guard;
  const int threads = num_threads();
  const ScopedNumThreads one_thread(1);
  use_kernel_set(available_kernel_sets().back());
  const double peak = 1e-9 * tools::measure_peak("f32", 1, 0.2);
  page.say({"The peak is how fast this processor multiplies and adds numbers that are already in its "
            "registers: {:.1f} GFLOP/s on one "
            "thread, measured with its widest instructions ({}). On a busy machine all figures are lower.",
            "峰值是处理器对已经放在寄存器里的数做乘加的速度：用最宽的指令（{1}）在一个线程上实测为 {0:.1f} "
            "GFLOP/s。"
            "机器忙的时候，所有数字都会偏低。"},
           peak, kernel_set().name);
  page.line({"  rung                               GFLOP/s   of peak   error",
             "  方法                               GFLOP/s    占峰值    误差"});
  const auto rung = [&](const std::string& name, double mark, const std::function<void(float*)>& multiply) {
    const double seconds = tools::seconds_per_call(0.1, [&] { multiply(c.mutable_data<float>()); });
    const double rate = 1e-9 * kOperations / seconds, error = max(abs(c - reference)).item();
    check(error < 1e-3, "matmul", "rung {} is off by {}", name, error);
    page.line("  {:<32} {:>9.2f} {:>8.1f}%   {:.0e}", name, rate, 100 * rate / mark, error);
  };
  rung("naive", peak, [&](float* out) { naive(a.data<float>(), b.data<float>(), out); });
  rung("loops reordered", peak, [&](float* out) { reordered(a.data<float>(), b.data<float>(), out); });
  rung("blocked", peak, [&](float* out) { blocked(a.data<float>(), b.data<float>(), out); });
  const auto library = [&](float* out) { gemm<float>(as_matrix<float>(a), as_matrix<float>(b), out, kN); };
  const std::vector<std::string> sets = available_kernel_sets();
  for (const char* set : {"scalar", "neon", "avx2", "avx512"}) {
    if (std::find(sets.begin(), sets.end(), set) == sets.end()) {
      page.line("  {:<32} {:>9}", std::string("library, ") + set, "-");
      continue;
    }
    use_kernel_set(set);
    rung(std::string("library, ") + set, peak, library);
  }
  use_kernel_set(guard.before);
  {
    const ScopedNumThreads all(threads);
    const double together = 1e-9 * tools::measure_peak("f32", threads, 0.2);
    rung(fmt::format("library, {}, {} thread{}", guard.before, threads, threads == 1 ? "" : "s"), together,
         library);
  }
  page.say(
      {"- : this processor does not have these instructions. The last rung is held against the peak of all "
       "its threads together.\n"
       "naive, reordered and blocked are in tools/lessons/plain_matmul.h. naive: B is read down its columns, "
       "so every number comes from another line of the cache.\n"
       "loops reordered: the compiler sees neighbours in the innermost loop, and handles 4 at once.\n"
       "blocked: a tile of C stays in registers, a strip of B in the cache; memory is hardly touched.\n"
       "library: the same idea, with A and B copied into the order in which they are read "
       "(tensor/kernels/gemm_tile.h). The code "
       "is written once and compiled for each instruction set: 8 numbers per instruction with AVX2, 16 with "
       "AVX-512, where one "
       "instruction multiplies and adds; scalar handles one at a time, and defines what the others have to "
       "compute. The error differs because sums are rounded in another order.",
       "“-”表示这台处理器没有这种指令。最后一级对比的是所有线程合起来的峰值。\n"
       "前三种写法见 tools/lessons/plain_matmul.h。naive：沿着列读 B，每个数都来自缓存里不同的一行。\n"
       "loops reordered：最内层循环访问相邻的数，编译器一次处理 4 个。\n"
       "blocked：C 的一小块留在寄存器里，B 的一条留在缓存里，几乎不碰内存。\n"
       "library：同样的想法，再把 A 和 B 按读取的顺序重新摆放（tensor/kernels/gemm_tile.h）。代码只写一遍，"
       "为每种指令集各编译一次：AVX2 一条指令处理 8 个数，AVX-512 处理 16 "
       "个，乘和加一条指令完成；scalar "
       "一次只处理一个数，它规定了其他版本应当算出什么。误差略有不同，是因为求和的顺序不同。"});
  page.say({"The instruction set is chosen when the program starts, and can be lowered: MINIGPT_ISA=avx2 "
            "minigpt ...; here: {}. Threads "
            "divide C among them and never split a sum, so their number does not change a single bit:",
            "指令集在程序启动时选定，也可以往低处调：MINIGPT_ISA=avx2 minigpt …；现在用的是 "
            "{}。线程之间分的是 C，"
            "从不拆开一个和，所以用几个线程，结果的每一位都一样："},
           guard.before);
  Tensor once = zeros({kN, kN});
  library(once.mutable_data<float>());
  {
    const ScopedNumThreads three(3);
    library(c.mutable_data<float>());
  }
  page.value(Text{"largest difference between 1 and 3 threads", "1 个线程与 3 个线程的最大差别"},
             max(abs(c - once)).item());

  page.exercise({"How many billion operations are a product of a (512, 512) and a (512, 512) matrix?",
                 "两个 (512, 512) 的矩阵相乘要多少十亿次运算？"},
                {"2 * 512^3 = 0.2684 billion", "2 * 512^3 = 0.2684 十亿"}, 0.2684, 1e-9 * kOperations);
  page.exercise({"If each matrix is read or written once, how many operations are there per byte? (A float "
                 "has 4 bytes.)",
                 "如果每个矩阵只读或写一次，每个字节对应多少次运算？（一个 float 占 4 个字节。）"},
                {"2 n^3 / (3 * 4 n^2) = n / 6 = 85.3333: arithmetic, not memory, is the limit, if the cache "
                 "is used well.",
                 "2 n^3 / (3 * 4 n^2) = n / 6 = 85.3333：只要用好缓存，瓶颈就是运算而不是内存。"},
                85.3333, kOperations / (3.0 * 4 * kN * kN));
  page.exercise({"A processor has two units for multiply-add, each with 8 floats per cycle (AVX2), at 3 GHz. "
                 "Its peak in GFLOP/s?",
                 "某处理器有两个乘加单元，每周期各处理 8 个 float（AVX2），主频 3 GHz。峰值是多少 GFLOP/s？"},
                {"2 units * 8 numbers * 2 operations * 3 = 96", "2 个单元 * 8 个数 * 2 次运算 * 3 = 96"}, 96,
                2.0 * 8 * 2 * 3);
}

}  // namespace minigpt::lessons
