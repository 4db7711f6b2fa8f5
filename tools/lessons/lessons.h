#pragma once
// Every lesson, each in the file of its name, in reading order.

#include "tools/lessons/lesson.h"

namespace minigpt::lessons {

// The engine.

// Attention.
void simple_attention(Page& page);

}  // namespace minigpt::lessons
