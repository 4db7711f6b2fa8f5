#pragma once
// PyTorch's results, read from files, and how close to them we must come.
//
// The files lie in the folder $MINIGPT_REFERENCE, else in tests/reference. A tensor there is
// {"dtype", "shape", "data"}, data flat and row-major; JSON has no infinities, so they are the strings "inf"
// and "-inf". Gradients are further flat lists of the same length ("grad", "grad_out").

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tensor/tensor.h"

namespace minigpt::reference {

// Where the files are.
std::filesystem::path folder();
// The parsed file of that name. Throws Error if it cannot be read.
nlohmann::json load(const std::string& file);

// A number, or "inf" / "-inf".
double number(const nlohmann::json& value);
// The tensor under `key` of an entry: its data, or its "grad" or "grad_out". int64 becomes int32, the only
// integer type we have. Throws Error if a number does not fit.
Tensor tensor(const nlohmann::json& entry, const char* key = "data");

// float64: |a - b| <= 1e-12 + r |b|, r = 1e-9 for results and 1e-8 for gradients; float32: 1e-6 + 2e-5 max |b|;
// integers and bool: equal. Infinities must be equal, and NaN never passes.
enum class Kind { result, gradient };

// "" if actual agrees with expected in shape, type and, within the tolerance, in every number; else what the
// worst difference is.
std::string difference(const Tensor& actual, const Tensor& expected, Kind kind);

}  // namespace minigpt::reference
