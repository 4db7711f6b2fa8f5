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
void trainable_attention(Page& page);
void attention_classes(Page& page);
void causal_mask(Page& page);
void attention_dropout(Page& page);
void causal_attention(Page& page);
void multi_head(Page& page);
void masks_when_writing(Page& page);
void cross_attention(Page& page);
void padding(Page& page);
void block(Page& page);
void pre_norm(Page& page);

// What it costs, and what a trained model does with it.
void head_count(Page& page);
void scaling(Page& page);
void attention_cost(Page& page);
void encoder_decoder(Page& page);
void train_gpt(Page& page);
void heat_map(Page& page);
void head_patterns(Page& page);
void what_it_means(Page& page);

// All of it together.
void whole_flow(Page& page);

}  // namespace minigpt::lessons
