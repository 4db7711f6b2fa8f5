#pragma once
// The operations of the generator's table in libtorch's terms. Only the files of this folder include it: libtorch's
// headers take long to compile.

#include <torch/torch.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/differential/expression.h"

namespace minigpt::differential {

using Torch = torch::Tensor;
using TorchOp = std::function<std::vector<Torch>(const std::vector<Torch>&, const Attributes&)>;

// By the name in the table.
std::map<std::string, TorchOp> torch_elementwise(), torch_shapes(), torch_rows();

// The numbers as float64, or for other types as int64 or bool.
Torch to_torch(const Stored& x);
inline std::vector<std::int64_t> to_list(const Dims& dims) { return {dims.begin(), dims.end()}; }

}  // namespace minigpt::differential
