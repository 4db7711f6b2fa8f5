#pragma once
// Another instruction set for the length of a scope.

#include <string>

#include "tensor/dispatch.h"

namespace minigpt {

class ScopedKernelSet {
 public:
  explicit ScopedKernelSet(const std::string& name) : before_(kernel_set().name) { use_kernel_set(name); }
  ~ScopedKernelSet() { use_kernel_set(before_); }
  ScopedKernelSet(const ScopedKernelSet&) = delete;
  ScopedKernelSet& operator=(const ScopedKernelSet&) = delete;

 private:
  std::string before_;
};

}  // namespace minigpt
