#include "nn/module.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "tensor/copy.h"

namespace minigpt {

void detail::collect_parameter(std::vector<NamedParameter>& list, std::string name,
                               const Variable& parameter) {
  for (NamedParameter& known : list) {
    if (!known.variable.is(parameter)) continue;
    known.aliases.push_back(std::move(name));
    return;
  }
  list.push_back({std::move(name), parameter, {}});
}

void zero_grad(const std::vector<NamedParameter>& parameters) {
  for (const NamedParameter& p : parameters) {
    Variable parameter = p.variable;  // refers to the same one
    parameter.zero_grad();
  }
}

std::int64_t parameter_count(const std::vector<NamedParameter>& parameters) {
  std::int64_t count = 0;
  for (const NamedParameter& p : parameters) count += p.variable.numel();
  return count;
}

namespace {

bool equal_bytes(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return false;
  return visit_dtype(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const Tensor x = a.contiguous(), y = b.contiguous();
    return std::memcmp(x.data<T>(), y.data<T>(), static_cast<std::size_t>(x.numel()) * sizeof(T)) == 0;
  });
}

// At most a handful of names, so that the message stays readable.
void append(std::string& text, std::string_view title, const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 6;
  if (names.empty()) return;
  text += fmt::format("{}{} ", text.empty() ? "" : "; ", title);
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
}

// The tensor for each parameter, or an Error that lists everything that does not fit.
std::vector<const Tensor*> match(const std::vector<NamedParameter>& parameters,
                                 const std::vector<NamedTensor>& tensors, std::string_view source) {
  std::map<std::string, const Tensor*, std::less<>> given;
  for (const NamedTensor& t : tensors) given[t.name] = &t.tensor;

  std::vector<const Tensor*> chosen;
  std::vector<std::string> missing, unexpected, different;
  for (const NamedParameter& p : parameters) {
    std::vector<std::string> names = {p.name};
    names.insert(names.end(), p.aliases.begin(), p.aliases.end());
    const Tensor* found = nullptr;
    for (const std::string& name : names) {
      const auto entry = given.find(name);
      if (entry == given.end()) continue;
      const Tensor* tensor = entry->second;
      given.erase(entry);
      if (!found)
        found = tensor;
      else if (!equal_bytes(*found, *tensor))
        different.push_back(name + " differs from " + p.name + ", to which this model ties it");
    }
    chosen.push_back(found);
    if (!found)
      missing.push_back(p.name);
    else if (!(found->shape() == p.variable.shape()))
      different.push_back(
          fmt::format("{}: {} in the file, {} in the model", p.name, found->shape(), p.variable.shape()));
    else if (!is_floating(found->dtype()))
      different.push_back(fmt::format("{}: {} is not a floating type", p.name, name_of(found->dtype())));
  }
  for (const auto& [name, tensor] : given) unexpected.push_back(name);

  std::string problems;
  append(problems, "missing:", missing);
  append(problems, "unexpected:", unexpected);
  append(problems, "not fitting:", different);
  check(problems.empty(), "load", "{} does not fit the model: {}", source, problems);
  return chosen;
}

}  // namespace

void check_parameters(const std::vector<NamedParameter>& parameters, const std::vector<NamedTensor>& tensors,
                      std::string_view source) {
  match(parameters, tensors, source);
}

void load_parameters(const std::vector<NamedParameter>& parameters, const std::vector<NamedTensor>& tensors,
                     std::string_view source) {
  const std::vector<const Tensor*> chosen = match(parameters, tensors, source);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Variable p = parameters[i].variable;
    p.mutable_value().copy_(*chosen[i]);
  }
}

}  // namespace minigpt
