#pragma once
// The recorded GPTs of PyTorch (tests/reference/README.md), ready to compare with.

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "models/gpt.h"
#include "nn/tensor_file.h"
#include "tensor/views.h"
#include "tests/reference_files.h"

namespace minigpt::reference {

using nlohmann::json;

using TensorMap = std::map<std::string, Tensor>;

inline TensorMap by_name(const std::vector<NamedTensor>& tensors) {
  TensorMap map;
  for (const NamedTensor& t : tensors) map.emplace(t.name, t.tensor);
  return map;
}

// One recorded set: gpt_<name>.json and the files that it names.
struct Set {
  json file;
  GptConfig config;
  std::int64_t batches = 0;

  explicit Set(const std::string& name) : file(load(name + ".json")) {
    const json& c = file.at("config");
    config.block_size = c.at("block_size");
    config.vocab_size = c.at("vocab_size");
    config.n_layer = c.at("n_layer");
    config.n_head = c.at("n_head");
    config.n_embd = c.at("n_embd");
    config.bias = c.at("bias");
    REQUIRE(c.at("dropout").get<double>() == 0);
    REQUIRE(file.at("ignore_index").get<int>() == -1);
    batches = file.at("idx").at("shape").at(0);
  }

  std::filesystem::path path(const char* what) const {
    return folder() / file.at("files").at(what).get<std::string>();
  }
  std::vector<NamedTensor> tensors(const char* what) const { return load_tensors(path(what)); }

  Gpt model(DType dtype) const {
    Generator rng(1);
    Gpt gpt(config, rng);
    convert_parameters(gpt, dtype);
    load_parameters(gpt.parameters(), tensors("weights"), path("weights").string());
    return gpt;
  }
  // Batch number i of "idx" or "targets": (B, T).
  Tensor batch(const char* key, std::int64_t i) const {
    return select(tensor(file.at(key)), 0, i).contiguous();
  }
};

// The sets that are in the folder.
inline std::vector<std::string> sets() {
  std::vector<std::string> found;
  for (const char* name : {"gpt_bias", "gpt_nobias"})
    if (std::filesystem::exists(folder() / (std::string(name) + ".json"))) found.emplace_back(name);
  REQUIRE(!found.empty());
  return found;
}

// Results were computed in float64; a float32 engine is held to float32's tolerance.
inline void compare(const std::string& what, const Tensor& actual, const Tensor& expected, Kind kind) {
  const std::string text = difference(actual, expected.to(actual.dtype()), kind);
  CHECK_MESSAGE(text.empty(), what << " " << text);
}

inline void compare(const std::string& what, double actual, double expected, DType dtype) {
  compare(what, Tensor::scalar(actual).to(dtype), Tensor::scalar(expected), Kind::result);
}

// Calls body(set, dtype) for every set and both types.
template <class Body>
void for_each_set(const Body& body) {
  for (const std::string& name : sets()) {
    const Set set(name);
    for (const DType dtype : {DType::f64, DType::f32}) {
      INFO(name << " in " << name_of(dtype));
      body(set, dtype);
    }
  }
}

}  // namespace minigpt::reference
