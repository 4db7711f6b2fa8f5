#pragma once
// The running example: "Your journey starts with one step" as six made-up word vectors of three numbers each, those of
// chapter 3 of "Build a Large Language Model (From Scratch)" (Raschka 2024), so that every figure can be compared.

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace minigpt::lessons {

// (6, 3) float32.
inline Tensor example_words() {
  return Tensor::from<float>({0.43f, 0.15f, 0.89f,   // Your
                              0.55f, 0.87f, 0.66f,   // journey
                              0.57f, 0.85f, 0.64f,   // starts
                              0.22f, 0.58f, 0.33f,   // with
                              0.77f, 0.25f, 0.10f,   // one
                              0.05f, 0.80f, 0.55f},  // step
                             {6, 3});
}

inline std::vector<std::string> example_tokens() {
  return {"Your", "journey", "starts", "with", "one", "step"};
}

}  // namespace minigpt::lessons
