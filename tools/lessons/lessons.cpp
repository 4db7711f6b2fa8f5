#include "tools/lessons/lessons.h"

namespace minigpt::lessons {

std::span<const Lesson> all_lessons() {
  static const Lesson kLessons[] = {
      // The engine.
      {"scalar-autograd",
       {"the chain rule, and an engine that applies it: gradients of single numbers",
        "链式法则和执行它的引擎：单个数的梯度"},
       scalar_autograd},
      {"tensors",
       {"arrays as windows on memory: shapes, strides, views, broadcasting",
        "数组是内存上的窗口：形状、步长、视图、广播"},
       tensors},
      {"gradcheck",
       {"is a gradient right? moving inputs a little, and a mistake that is found",
        "梯度对不对？挪一挪输入，抓出一个错误"},
       gradcheck},
      {"matmul",
       {"the matrix product from three loops to vector instructions and threads, measured",
        "矩阵乘法：从三重循环到向量指令和多线程，逐级实测"},
       matmul},
      {"layer-norm",
       {"keeping numbers at a sensible size, and the gradient of that", "让数值保持合适的大小，以及它的梯度"},
       layer_norm},
      {"cross-entropy",
       {"the loss of a guess; its gradient is prediction minus truth", "猜测的损失；梯度就是预测减去真相"},
       cross_entropy},
      {"adamw",
       {"from gradients to better weights, by hand and by the library",
        "从梯度到更好的权重：手算与程序库对照"},
       adamw},
      // Attention.
      {"soft-dictionary",
       {"query, key and value as a dictionary look-up that can be learnt",
        "查询、键、值：可以学习的字典查找"},
       soft_dictionary},
      {"simple-attention",
       {"self-attention without anything to learn: scores, weights, context",
        "没有任何可学习参数的自注意力：分数、权重、上下文向量"},
       simple_attention},
  };
  return kLessons;
}

}  // namespace minigpt::lessons
