#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

std::span<const Lesson> all_lessons() {
  static const Lesson kLessons[] = {
      // The engine.

      // Attention.
      {"simple-attention",
       {"self-attention without anything to learn: scores, weights, context",
        "没有任何可学习参数的自注意力：分数、权重、上下文向量"},
       simple_attention},
  };
  return kLessons;
}

}  // namespace minigpt::lessons
