#pragma once
// Every lesson, each in the file of its name, in reading order.

#include "tools/lessons/lesson.h"

namespace minigpt::lessons {

// The engine.
void scalar_autograd(Page& page);
void tensors(Page& page);
void gradcheck(Page& page);
void matmul(Page& page);
void layer_norm(Page& page);
void cross_entropy(Page& page);
void adamw(Page& page);

// Attention.
void soft_dictionary(Page& page);
void simple_attention(Page& page);

}  // namespace minigpt::lessons
