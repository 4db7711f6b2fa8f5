#pragma once
// Named tensors in a safetensors file.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "nn/module.h"

namespace minigpt {

// What a file holds.
struct TensorFile {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Writes the tensors (any layout) row-major, completely or not at all, with a checksum that readers verify
// (nn/safetensors_seal.h); returns it. Throws RunError if it cannot.
std::string save_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata = {});

// Reads every tensor of the file. int64 is range-checked into int32. Throws Error that begins with the path if the file
// is damaged, foreign, or holds a type that no Tensor has (F16, BF16, ...).
TensorFile load_tensor_file(const std::filesystem::path& path);
// Its tensors alone.
std::vector<NamedTensor> load_tensors(const std::filesystem::path& path);

// The parameters' current values (live, not copies), each under its first name.
std::vector<NamedTensor> parameter_tensors(const std::vector<NamedParameter>& parameters);

// {"tied:<alias>": "<name>"} for every tied parameter, so that a file says which names share one tensor.
std::map<std::string, std::string> tie_metadata(const std::vector<NamedParameter>& parameters);

}  // namespace minigpt
