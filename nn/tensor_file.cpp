#include "nn/tensor_file.h"

#include <cmath>
#include <memory>

#include "nn/safetensors.h"

namespace minigpt {
namespace {

template <class T>
Tensor read_as(const SafetensorsFile& file, const SafetensorsFile::Entry& entry) {
  Tensor t = Tensor::empty(Shape(std::span<const std::int64_t>(entry.shape)), dtype_of<T>);
  file.copy(entry, std::span<T>(t.mutable_data<T>(), static_cast<std::size_t>(t.numel())));
  return t;
}

}  // namespace

std::string save_tensors(const std::filesystem::path& path, const std::vector<NamedTensor>& tensors,
                         const std::map<std::string, std::string>& metadata) {
  SafetensorsWriter writer;
  for (const NamedTensor& t : tensors) {
    const Tensor flat = t.tensor.contiguous();
    const std::vector<std::int64_t> shape(flat.shape().begin(), flat.shape().end());
    visit_dtype(flat.dtype(), [&](auto zero) {
      using T = decltype(zero);
      writer.add(t.name, shape, std::span<const T>(flat.data<T>(), static_cast<std::size_t>(flat.numel())));
    });
  }
  for (const auto& [key, value] : metadata) writer.set_metadata(key, value);
  return writer.write_sealed(path);
}

TensorFile load_tensor_file(const std::filesystem::path& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  std::vector<NamedTensor> tensors;
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    if (entry.dtype == "F64")
      tensors.push_back({entry.name, read_as<double>(file, entry)});
    else if (entry.dtype == "I32" || entry.dtype == "I64")
      tensors.push_back({entry.name, read_as<std::int32_t>(file, entry)});
    else if (entry.dtype == "BOOL")
      tensors.push_back({entry.name, read_as<bool>(file, entry)});
    else
      tensors.push_back({entry.name, read_as<float>(file, entry)});  // F32; others are refused by name
  }
  return {std::move(tensors), file.metadata()};
}

std::vector<NamedTensor> load_tensors(const std::filesystem::path& path) {
  return load_tensor_file(path).tensors;
}

std::vector<NamedTensor> parameter_tensors(const std::vector<NamedParameter>& parameters) {
  std::vector<NamedTensor> tensors;
  for (const NamedParameter& p : parameters) tensors.push_back({p.name, p.variable.value()});
  return tensors;
}

std::map<std::string, std::string> tie_metadata(const std::vector<NamedParameter>& parameters) {
  std::map<std::string, std::string> metadata = {{"format", "minigpt"}};
  for (const NamedParameter& p : parameters)
    for (const std::string& alias : p.aliases) metadata["tied:" + alias] = p.name;
  return metadata;
}

}  // namespace minigpt
