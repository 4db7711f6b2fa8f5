#pragma once
// How to run the rules of a PyTorch reference file (tests/reference/torch_rng.json). Each entry names a rule and its
// arguments; rule_* returns the flat values that PyTorch gave. Modules are drawn here value by value, straight from
// the Generator, so this also documents the order in which PyTorch's constructors draw.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tensor/dropout_mask.h"
#include "tensor/generator.h"
#include "tensor/sampling.h"

namespace torch_rng {

using nlohmann::json;
using Values = std::vector<json>;  // numbers; integers stay integers
using Shape = std::vector<std::int64_t>;

inline std::size_t count_of(const Shape& shape) {
  std::size_t n = 1;
  for (const std::int64_t d : shape) n *= static_cast<std::size_t>(d);
  return n;
}

// The number of elements: `shape` or `n`.
inline std::size_t count_of(const json& args) {
  return args.contains("shape") ? count_of(args["shape"].get<Shape>()) : args.at("n").get<std::size_t>();
}

inline bool flag(const json& args, const char* name, bool otherwise) {
  return args.contains(name) && !args[name].is_null() ? args[name].get<bool>() : otherwise;
}

inline double number(const json& args, const char* name, double otherwise) {
  return args.contains(name) && !args[name].is_null() ? args[name].get<double>() : otherwise;
}

// A 64-bit integer; large ones are written as decimal strings.
inline std::int64_t integer(const json& value) {
  return value.is_string() ? std::stoll(value.get<std::string>()) : value.get<std::int64_t>();
}

template <class Container>
void append(Values& values, const Container& more) {
  values.insert(values.end(), more.begin(), more.end());
}

template <class Container>
Values values_of(const Container& numbers) {
  Values values;
  append(values, numbers);
  return values;
}

// Calls fill(vector<float>&) or fill(vector<double>&), as args["dtype"] says.
template <class Fill>
Values filled(std::size_t n, const json& args, Fill fill) {
  if (args.value("dtype", "float32") == "float64") {
    std::vector<double> x(n);
    fill(x);
    return values_of(x);
  }
  std::vector<float> x(n);
  fill(x);
  return values_of(x);
}

inline Values times(std::size_t n, const std::function<json()>& draw) {
  Values values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(draw());
  return values;
}

// ---- The rules of single calls

inline Values rule_random(minigpt::Generator& rng, const json& args) {
  const std::size_t n = count_of(args);
  const std::string dtype = args.value("dtype", "int64");
  if (dtype == "int64") return times(n, [&] { return rng.random<std::int64_t>(); });
  if (dtype == "int32") return times(n, [&] { return rng.random<std::int32_t>(); });
  if (dtype == "int16") return times(n, [&] { return rng.random<std::int16_t>(); });
  if (dtype == "uint8") return times(n, [&] { return rng.random<std::uint8_t>(); });
  if (dtype == "bool") return times(n, [&] { return static_cast<int>(rng.random<bool>()); });
  if (dtype == "float32") return times(n, [&] { return rng.random<float>(); });
  if (dtype == "float64") return times(n, [&] { return rng.random<double>(); });
  throw std::runtime_error("unknown dtype " + dtype);
}

inline Values rule_rand(minigpt::Generator& rng, const json& args) {
  const std::size_t n = count_of(args);
  const std::string dtype = args.value("dtype", "float32");
  // The half types keep as many low bits of a word as their significand has.
  if (dtype == "bfloat16") return times(n, [&] { return (rng.u32() & 0xffu) * 0x1p-8; });
  if (dtype == "float16") return times(n, [&] { return (rng.u32() & 0x7ffu) * 0x1p-11; });
  return filled(n, args, [&](auto& x) { rng.uniform(x); });
}

// Fills a tensor of shape args["alloc"] whose axes were permuted, and reads it row-major in its permuted shape.
template <class Fill>
Values strided(const json& args, Fill fill) {
  const Shape alloc = args.at("alloc").get<Shape>();
  const auto axes = args.at("permute").get<std::vector<std::size_t>>();
  Shape strides(alloc.size(), 1), shape, permuted;
  for (std::size_t i = alloc.size() - 1; i > 0; --i) strides[i - 1] = strides[i] * alloc[i];
  for (const std::size_t axis : axes) {
    shape.push_back(alloc[axis]);
    permuted.push_back(strides[axis]);
  }
  bool contiguous = true;
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0; expected *= shape[i])
    contiguous = contiguous && (shape[i] == 1 || permuted[i] == expected);

  const Values memory = filled(count_of(alloc), args, [&](auto& x) { fill(x, contiguous); });
  Values values;
  for (std::size_t flat = 0; flat < memory.size(); ++flat) {
    std::int64_t rest = static_cast<std::int64_t>(flat), at = 0;
    for (std::size_t i = shape.size(); i-- > 0; rest /= shape[i]) at += rest % shape[i] * permuted[i];
    values.push_back(memory[static_cast<std::size_t>(at)]);
  }
  return values;
}

inline Values rule_calls(minigpt::Generator& rng, const json& args) {
  Values values;
  for (const json& call : args.at("calls")) {
    const std::string name = call.at(0);
    if (name == "seed") {
      rng.seed(static_cast<std::uint64_t>(integer(call.at(1))));
      continue;
    }
    const bool wide = name.ends_with("64");
    const json dtype = {{"dtype", wide ? "float64" : "float32"}};
    const std::string base = wide ? name.substr(0, name.size() - 2) : name;
    if (base != "rand" && base != "randn") throw std::runtime_error("unknown call " + name);
    append(values, filled(count_of(call.at(1).get<Shape>()), dtype,
                          [&](auto& x) { base == "rand" ? rng.uniform(x) : rng.normal(x); }));
  }
  return values;
}

inline Values rule_bernoulli_tensor(minigpt::Generator& rng, const json& args) {
  return filled(args.at("p").size(), args, [&]<class T>(std::vector<T>& x) {
    const auto p = args["p"].get<std::vector<T>>();
    minigpt::bernoulli(rng, std::span<const T>(p), x);
  });
}

inline Values rule_dropout(minigpt::Generator& rng, const json& args) {
  const std::size_t n = count_of(args);
  const auto x = args.contains("x") ? args["x"].get<std::vector<float>>() : std::vector<float>(n, 1.0f);
  const double p = args.at("p");
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(minigpt::mask_words(static_cast<std::int64_t>(n))));
  minigpt::torch_keep_bits(rng, words.data(), static_cast<std::int64_t>(n), p);
  const float scale = 1.0f / static_cast<float>(1 - p);
  Values y;
  for (std::size_t i = 0; i < n; ++i)
    y.push_back(minigpt::mask_bit(words.data(), static_cast<std::int64_t>(i)) ? x[i] * scale : 0.0f);
  return y;
}

template <class T>
Values multinomial_as(minigpt::Generator& rng, const json& args) {
  const json& probs = args.at("probs");
  std::vector<T> weights;
  const bool matrix = probs.at(0).is_array();
  for (const json& row : matrix ? probs : json::array({probs}))
    for (const json& weight : row) weights.push_back(weight.get<T>());
  const auto rows = matrix ? static_cast<std::int64_t>(probs.size()) : 1;
  return values_of(minigpt::multinomial(rng, std::span<const T>(weights), rows, args.at("num_samples"),
                                        flag(args, "replacement", false)));
}

inline Values rule_multinomial(minigpt::Generator& rng, const json& args) {
  const bool wide = args.value("dtype", "float32") == "float64";
  return wide ? multinomial_as<double>(rng, args) : multinomial_as<float>(rng, args);
}

inline Values rule_multinomial_weights_i(minigpt::Generator& rng, const json& args) {
  const std::int64_t vocab = args.at("vocab"), rows = args.at("rows");
  std::vector<float> weights;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < vocab; ++i) weights.push_back(static_cast<float>(1 + (7 * i + r) % 13));
  return values_of(minigpt::multinomial(rng, std::span<const float>(weights), rows, args.at("num_samples"),
                                        flag(args, "replacement", false)));
}

// ---- Initialisers (torch.nn.init): bounds in double, then a uniform or normal fill

struct Fans {
  explicit Fans(const Shape& shape) {
    const double rest = static_cast<double>(count_of(Shape(shape.begin() + 2, shape.end())));
    in = static_cast<double>(shape.at(1)) * rest;
    out = static_cast<double>(shape.at(0)) * rest;
  }
  double in, out;
};

inline std::vector<float> uniform(minigpt::Generator& rng, std::size_t n, double bound) {
  std::vector<float> x(n);
  rng.uniform(x, -bound, bound);
  return x;
}

inline std::vector<float> normal(minigpt::Generator& rng, std::size_t n, double std) {
  std::vector<float> x(n);
  rng.normal(x, 0, std);
  return x;
}

inline double kaiming_std(const json& args, const Shape& shape) {
  const std::string kind = args.value("nonlinearity", "leaky_relu");
  const double slope = number(args, "a", 0);
  double gain = 1;  // linear, sigmoid, convolutions
  if (kind == "leaky_relu") gain = std::sqrt(2 / (1 + slope * slope));
  if (kind == "relu") gain = std::sqrt(2.0);
  if (kind == "tanh") gain = 5.0 / 3;
  const Fans fans(shape);
  return gain / std::sqrt(args.value("mode", "fan_in") == "fan_out" ? fans.out : fans.in);
}

inline double xavier_std(const json& args, const Shape& shape) {
  const Fans fans(shape);
  return number(args, "gain", 1) * std::sqrt(2 / (fans.in + fans.out));
}

// ---- Modules, in the order in which their constructors draw

inline std::vector<float> linear_weight(minigpt::Generator& rng, std::int64_t in, std::int64_t out) {
  const double gain = std::sqrt(2 / (1 + 5.0));  // kaiming_uniform_ with a = sqrt 5
  return uniform(rng, count_of(Shape{out, in}), std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(in))));
}

inline std::vector<float> linear_bias(minigpt::Generator& rng, std::int64_t in, std::int64_t out) {
  return uniform(rng, static_cast<std::size_t>(out), 1 / std::sqrt(static_cast<double>(in)));
}

inline Values rule_linear(minigpt::Generator& rng, const json& args) {
  Values values = values_of(linear_weight(rng, args.at("in"), args.at("out")));
  if (flag(args, "bias", true)) append(values, linear_bias(rng, args.at("in"), args.at("out")));
  return values;
}

inline Values rule_embedding(minigpt::Generator& rng, const json& args) {
  const std::size_t rows = args.at("num"), dim = args.at("dim");
  std::vector<float> weight = normal(rng, rows * dim, 1);
  if (args.contains("padding_idx") && !args["padding_idx"].is_null()) {
    const std::int64_t index = args["padding_idx"];
    const std::size_t row =
        static_cast<std::size_t>(index < 0 ? index + static_cast<std::int64_t>(rows) : index);
    std::fill_n(weight.begin() + static_cast<std::ptrdiff_t>(row * dim), dim, 0.0f);
  }
  return values_of(weight);
}

// The output projection is drawn first and its bias zeroed later; PyTorch lists it last.
inline Values rule_multihead_attention(minigpt::Generator& rng, const json& args) {
  const auto width = static_cast<std::int64_t>(number(args, "embed_dim", 0));
  const auto kdim = static_cast<std::int64_t>(number(args, "kdim", static_cast<double>(width)));
  const auto vdim = static_cast<std::int64_t>(number(args, "vdim", static_cast<double>(width)));
  const std::vector<float> out_proj = linear_weight(rng, width, width);
  if (flag(args, "bias", true)) linear_bias(rng, width, width);

  std::vector<Shape> inputs = {{width, width}, {width, kdim}, {width, vdim}};
  if (kdim == width && vdim == width) inputs = {{3 * width, width}};
  Values values;
  for (const Shape& shape : inputs)
    append(values, uniform(rng, count_of(shape), std::sqrt(3.0) * xavier_std({}, shape)));
  append(values, out_proj);
  return values;
}

// ---- Data

inline Values rule_dataloader_order(minigpt::Generator& rng, const json& args) {
  const std::int64_t n = args.at("n"), batch = args.value("batch_size", std::int64_t{1});
  const auto used = static_cast<std::ptrdiff_t>(flag(args, "drop_last", false) ? n / batch * batch : n);
  Values values;
  for (int epoch = 0; epoch < args.value("epochs", 1); ++epoch) {
    rng.random<std::int64_t>();  // the base seed of worker processes, drawn even if there are none
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    if (flag(args, "shuffle", false))
      order = minigpt::Generator(static_cast<std::uint64_t>(rng.random<std::int64_t>())).randperm(n);
    values.insert(values.end(), order.begin(), order.begin() + used);
  }
  return values;
}

inline Values rule_random_split(minigpt::Generator& rng, const json& args) {
  const auto lengths = args.at("lengths").get<Shape>();
  return values_of(rng.randperm(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0})));
}

// ---- nanoGPT's constructor and batches

// Draws the whole constructor and returns the parameters that are drawn, by name.
inline std::map<std::string, std::vector<float>> nanogpt(minigpt::Generator& rng, const json& args) {
  const std::int64_t V = args.at("vocab_size"), T = args.at("block_size"), L = args.at("n_layer"),
                     C = args.at("n_embd");
  const bool bias = flag(args, "bias", true);
  const std::vector<std::pair<std::string, Shape>> linears = {{"attn.c_attn.weight", {3 * C, C}},
                                                              {"attn.c_proj.weight", {C, C}},
                                                              {"mlp.c_fc.weight", {4 * C, C}},
                                                              {"mlp.c_proj.weight", {C, 4 * C}}};
  const auto block = [](std::int64_t l, const std::string& name) {
    return "transformer.h." + std::to_string(l) + "." + name;
  };
  // Pass 1, construction: every value is replaced below, but the words are gone.
  normal(rng, count_of(Shape{V, C}), 1);
  normal(rng, count_of(Shape{T, C}), 1);
  for (std::int64_t l = 0; l < L; ++l)
    for (const auto& [name, shape] : linears) {
      linear_weight(rng, shape[1], shape[0]);
      if (bias) linear_bias(rng, shape[1], shape[0]);
    }
  linear_weight(rng, C, V);
  // Pass 2, apply(_init_weights). The token embedding is tied to lm_head, reached twice, and the second draw stays.
  std::map<std::string, std::vector<float>> drawn;
  normal(rng, count_of(Shape{V, C}), 0.02);
  drawn["transformer.wpe.weight"] = normal(rng, count_of(Shape{T, C}), 0.02);
  for (std::int64_t l = 0; l < L; ++l)
    for (const auto& [name, shape] : linears) drawn[block(l, name)] = normal(rng, count_of(shape), 0.02);
  drawn["lm_head.weight"] = drawn["transformer.wte.weight"] = normal(rng, count_of(Shape{V, C}), 0.02);
  // Pass 3: the residual projections, smaller the deeper the model is.
  const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(L));
  for (std::int64_t l = 0; l < L; ++l)
    for (const auto& [name, shape] : {linears[1], linears[3]})
      drawn[block(l, name)] = normal(rng, count_of(shape), residual);
  return drawn;
}

inline Values rule_nanogpt_init(minigpt::Generator& rng, const json& args) {
  const auto drawn = nanogpt(rng, args);
  const std::string name = args.at("param");
  if (drawn.contains(name)) return values_of(drawn.at(name));
  // What is left is not drawn: biases are 0, LayerNorm's weights 1.
  const std::size_t C = args.at("n_embd");
  const bool bias = name.ends_with(".bias");
  const std::size_t n = name.ends_with("c_attn.bias") ? 3 * C : name.ends_with("c_fc.bias") ? 4 * C : C;
  return values_of(std::vector<float>(n, bias ? 0.0f : 1.0f));
}

inline Values rule_nanogpt_batches(minigpt::Generator& rng, const json& args) {
  nanogpt(rng, args);
  Values values;
  for (const json& entry : args.at("order")) {
    const std::int64_t length = args.at(entry.at(0) == "train" ? "train_len" : "val_len");
    const std::int64_t last = length - args.at("block_size").get<std::int64_t>();
    for (std::int64_t i = 0; i < entry.at(1).get<std::int64_t>() * args.at("batch_size").get<std::int64_t>();
         ++i)
      values.push_back(rng.randint(0, last));
  }
  return values;
}

}  // namespace torch_rng
