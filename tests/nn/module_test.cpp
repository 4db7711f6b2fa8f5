#include "nn/module.h"

#include <doctest/doctest.h>

#include "autograd/ops/mul.h"
#include "autograd/ops/sum.h"
#include "nn/linear.h"
#include "nn/tensor_file.h"
#include "tensor/views.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

// A module of every kind of member: a parameter, a module, a list of modules, an absent bias.
struct Tower : Module {
  Variable scale;
  Linear first;
  std::vector<Linear> h;

  Tower() {
    Generator rng(1);
    scale = Variable(ones({2}), true);
    first = Linear(2, 2, true, rng);
    h.emplace_back(2, 2, false, rng);
    h.emplace_back(2, 2, false, rng);
  }
  template <class V>
  void visit(V&& v) {
    v("scale", scale);
    v("first", first);
    v("h", h);
  }
};

std::vector<std::string> names_of(const std::vector<NamedParameter>& parameters) {
  std::vector<std::string> names;
  for (const NamedParameter& p : parameters) names.push_back(p.name);
  return names;
}

std::vector<NamedTensor> copies_of(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedTensor> tensors;
  for (const NamedParameter& p : parameters) tensors.push_back({p.name, p.variable.value().clone()});
  return tensors;
}

// The message with which the tensors are refused; "" if they are loaded.
std::string refusal(const std::vector<NamedParameter>& parameters, const std::vector<NamedTensor>& tensors) {
  try {
    load_parameters(parameters, tensors, "file");
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_CASE("modules: one visit names every parameter, in order; an absent bias has no name") {
  Tower tower;
  const std::vector<NamedParameter> parameters = named_parameters(tower);
  CHECK(names_of(parameters) ==
        std::vector<std::string>{"scale", "first.weight", "first.bias", "h.0.weight", "h.1.weight"});
  CHECK(parameter_count(parameters) == 2 + 4 + 2 + 4 + 4);
  for (const NamedParameter& p : parameters) CHECK(p.aliases.empty());
  CHECK(parameters[0].variable.is(tower.scale));  // a reference, not a copy
}

TEST_CASE("modules: every module learns its path, every parameter its name") {
  Tower tower;
  stamp_paths(tower);
  CHECK(std::string(tower.path) == "");
  CHECK(std::string(tower.first.path) == "first");
  CHECK(std::string(tower.h[1].path) == "h.1");
  CHECK(std::string(tower.h[1].weight.name()) == "h.1.weight");
  // A copy shares the parameters, so it is the same model.
  Tower copy = tower;
  CHECK(copy.first.weight.is(tower.first.weight));
}

TEST_CASE("modules: walk shows parents before children") {
  Tower tower;
  std::vector<std::string> modules;
  walk(
      tower, [](const std::string&, Variable&) {},
      [&](const std::string& path, Module&) { modules.push_back(path); });
  CHECK(modules == std::vector<std::string>{"", "first", "h.0", "h.1"});
}

TEST_CASE("modules: a tied parameter is listed once, with its other names") {
  Tower tower;
  tower.h[1].weight = tower.first.weight;
  stamp_paths(tower);
  const std::vector<NamedParameter> parameters = named_parameters(tower);
  REQUIRE(parameters.size() == 4);
  CHECK(parameters[1].name == "first.weight");
  CHECK(parameters[1].aliases == std::vector<std::string>{"h.1.weight"});
  CHECK(std::string(tower.h[1].weight.name()) == "first.weight");
  CHECK(parameter_count(parameters) == 12);
}

TEST_CASE("modules: convert_parameters changes the type, keeps ties and drops gradients") {
  Tower tower;
  tower.h[1].weight = tower.first.weight;
  Variable weight = tower.first.weight;
  sum(weight * weight).backward();
  const std::vector<float> before = weight.value().to_vector<float>();
  convert_parameters(tower, DType::f64);
  CHECK(tower.h[1].weight.dtype() == DType::f64);
  CHECK(tower.h[1].weight.is(weight));
  CHECK(weight.value().to_vector<double>() == std::vector<double>(before.begin(), before.end()));
  CHECK_FALSE(weight.has_grad());
  sum(weight * weight).backward();
  const std::vector<NamedParameter> parameters = named_parameters(tower);
  zero_grad(parameters);
  CHECK_FALSE(weight.has_grad());
}

TEST_CASE("load_parameters: equal names are copied, float64 converts") {
  Tower from, to;
  from.scale.mutable_value().fill_(7);
  const Storage before = to.scale.value().storage();
  std::vector<NamedTensor> tensors = copies_of(named_parameters(from));
  tensors[0].tensor = tensors[0].tensor.to(DType::f64);
  load_parameters(named_parameters(to), tensors, "file");
  CHECK(to.scale.value().to_vector<float>() == std::vector<float>{7, 7});
  CHECK(to.scale.dtype() == DType::f32);
  CHECK(to.scale.value().storage() == before);  // in place: whoever shares the parameter sees the new numbers
  from.scale.mutable_value().fill_(8);
  CHECK(to.scale.value().to_vector<float>() == std::vector<float>{7, 7});  // and nothing stays shared
}

TEST_CASE(
    "load_parameters: a file that does not fit is refused in one list, and nothing of it is taken (C-13)") {
  Tower tower;
  const std::vector<NamedParameter> parameters = named_parameters(tower);
  const std::vector<float> before = tower.scale.value().to_vector<float>();
  std::vector<NamedTensor> tensors = copies_of(parameters);
  tensors[0].tensor.fill_(9);                     // fits, and comes first: must not be taken all the same
  tensors[1].name = "first.wieght";               // renamed: one missing, one unexpected
  tensors[2].tensor = zeros({3});                 // another shape
  tensors[3].tensor = zeros({2, 2}, DType::i32);  // another kind of number
  tensors.push_back({"extra", zeros({1})});
  const std::string message = refusal(parameters, tensors);
  CHECK(message ==
        "[load] file does not fit the model: missing: first.weight; unexpected: extra, first.wieght; not "
        "fitting: "
        "first.bias: (3) in the file, (2) in the model, h.0.weight: int32 is not a floating type");
  CHECK(tower.scale.value().to_vector<float>() == before);

  CHECK_THROWS_WITH_AS(check_parameters(parameters, tensors, "file"), message.c_str(), Error);
  CHECK_NOTHROW(check_parameters(parameters, copies_of(parameters), "file"));
}

TEST_CASE("load_parameters: a long list is cut") {
  Tower tower;
  std::vector<NamedTensor> tensors = copies_of(named_parameters(tower));
  for (int i = 0; i < 20; ++i) tensors.push_back({"extra." + std::to_string(i), zeros({1})});
  const std::string message = refusal(named_parameters(tower), tensors);
  CHECK(message.find("and 14 more") != std::string::npos);
  CHECK(message.size() < 300);
  tensors.resize(tensors.size() - 14);  // six are told in full
  CHECK(
      refusal(named_parameters(tower), tensors) ==
      "[load] file does not fit the model: unexpected: extra.0, extra.1, extra.2, extra.3, extra.4, extra.5");
}

// C-12: tied and untied models, loaded into each other.
TEST_CASE("load_parameters: a tied model takes either name, and both if they are equal") {
  Tower untied, tied;
  tied.h[1].weight = tied.first.weight;
  const std::vector<NamedParameter> parameters = named_parameters(tied);
  untied.first.weight.mutable_value().fill_(3);
  std::vector<NamedTensor> tensors = copies_of(named_parameters(untied));

  const std::string message = refusal(parameters, tensors);
  CHECK(message.find("h.1.weight differs from first.weight, to which this model ties it") !=
        std::string::npos);

  tensors[4].tensor.fill_(3);  // equal now
  CHECK(refusal(parameters, tensors) == "");
  CHECK(tied.h[1].weight.value().to_vector<float>() == std::vector<float>(4, 3));

  // Equality is about numbers, wherever they lie in memory: a window on a larger tensor, and a transposed one.
  Tensor wide = full({4, 2}, 5);
  slice(wide, 0, 2, 4).fill_(3);
  tensors[4].tensor = slice(wide, 0, 2, 4);
  CHECK(refusal(parameters, tensors) == "");
  tensors[4].tensor = transpose(slice(wide, 0, 2, 4));
  CHECK(refusal(parameters, tensors) == "");
  tensors[4].tensor = slice(wide, 0, 1, 3);  // 5 5 / 3 3
  CHECK(refusal(parameters, tensors).find("differs") != std::string::npos);

  tensors[4].tensor = full({4}, 3);  // the same numbers in another shape are another tensor
  CHECK(refusal(parameters, tensors).find("differs") != std::string::npos);

  tensors.erase(tensors.begin() + 1);  // the first name is absent, the alias stands for it
  tensors[3].tensor = full({2, 2}, 4);
  CHECK(refusal(parameters, tensors) == "");
  CHECK(tied.first.weight.value().to_vector<float>() == std::vector<float>(4, 4));
}

TEST_CASE("load_parameters: a tied file does not fill an untied model") {
  Tower tied, untied;
  tied.h[1].weight = tied.first.weight;
  CHECK(refusal(named_parameters(untied), copies_of(named_parameters(tied))) ==
        "[load] file does not fit the model: missing: h.1.weight");
}

TEST_CASE("load_parameters: through a file, a tied model is still tied afterwards") {
  const test::TemporaryFolder folder;
  Tower from, to;
  from.h[1].weight = from.first.weight;
  to.h[1].weight = to.first.weight;
  from.first.weight.mutable_value().fill_(0.5);
  const std::vector<NamedParameter> parameters = named_parameters(from);
  save_tensors(folder / "m.safetensors", parameter_tensors(parameters), tie_metadata(parameters));
  load_parameters(named_parameters(to), load_tensors(folder / "m.safetensors"), "m.safetensors");
  CHECK(to.h[1].weight.value().to_vector<float>() == std::vector<float>(4, 0.5f));
  to.first.weight.mutable_value().fill_(2);  // change one end, look at the other
  CHECK(to.h[1].weight.value().to_vector<float>() == std::vector<float>(4, 2));
}

}  // namespace
}  // namespace minigpt
