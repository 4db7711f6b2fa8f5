#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "nn/files.h"
#include "nn/little_endian.h"
#include "nn/safetensors.h"
#include "nn/safetensors_seal.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

constexpr std::string_view kOp = "safetensors";

// A JSON string, or an Error if `text` is not UTF-8.
std::string json_string(const std::string& text, std::string_view what) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail(kOp, "{} is not valid UTF-8", what);
  }
}

// How the elements of a C++ type are stored.
template <class T>
struct Stored;
template <>
struct Stored<float> {
  static constexpr const char* kDtype = "F32";
  using Bits = std::uint32_t;
};
template <>
struct Stored<double> {
  static constexpr const char* kDtype = "F64";
  using Bits = std::uint64_t;
};
template <>
struct Stored<std::int32_t> {
  static constexpr const char* kDtype = "I32";
  using Bits = std::uint32_t;
};
template <>
struct Stored<bool> {
  static constexpr const char* kDtype = "BOOL";
  using Bits = std::uint8_t;
};

}  // namespace

void SafetensorsWriter::add(std::string name, std::string dtype, std::vector<std::int64_t> shape,
                            std::vector<std::byte> data) {
  // Everything is refused here, in the call that brings it, and not later when the file is made.
  json_string(name, "the name of a tensor");
  const std::string who = "tensor " + detail::quote_name(name);
  check(name != "__metadata__", kOp, "{}: this name is kept for the free text of the header", who);
  check(std::none_of(tensors_.begin(), tensors_.end(), [&](const Tensor& t) { return t.name == name; }), kOp,
        "{} was added before", who);
  const std::uint64_t needed = detail::safetensors_byte_count(dtype, shape, who);
  check(needed == data.size(), kOp, "{}: shape ({}) of dtype {} needs {} bytes, got {}", who,
        fmt::join(shape, ", "), dtype, needed, data.size());
  tensors_.push_back({std::move(name), std::move(dtype), std::move(shape), std::move(data)});
}

template <class T>
void SafetensorsWriter::add(std::string name, std::vector<std::int64_t> shape, std::span<const T> values) {
  using Bits = typename Stored<T>::Bits;
  std::vector<std::byte> data(values.size() * sizeof(Bits));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<T, bool>) {
      // Not by its bits: how a bool looks in memory is up to the compiler, in a file it is 0 or 1.
      data[i] = std::byte{values[i]};
    } else {
      detail::store_little_endian(std::bit_cast<Bits>(values[i]), &data[i * sizeof(Bits)]);
    }
  }
  add(std::move(name), Stored<T>::kDtype, std::move(shape), std::move(data));
}

template void SafetensorsWriter::add(std::string, std::vector<std::int64_t>, std::span<const float>);
template void SafetensorsWriter::add(std::string, std::vector<std::int64_t>, std::span<const double>);
template void SafetensorsWriter::add(std::string, std::vector<std::int64_t>, std::span<const std::int32_t>);
template void SafetensorsWriter::add(std::string, std::vector<std::int64_t>, std::span<const bool>);

void SafetensorsWriter::set_metadata(std::string key, std::string value) {
  json_string(key, "a key of the metadata");
  json_string(value, "the metadata of " + detail::quote_name(key));
  metadata_[std::move(key)] = std::move(value);
}

std::vector<std::span<const std::byte>> SafetensorsWriter::pieces(std::vector<std::byte>& start) const {
  // Falling element sizes keep every tensor aligned without gaps, which the format does not allow.
  std::vector<const Tensor*> order;
  std::transform(tensors_.begin(), tensors_.end(), std::back_inserter(order),
                 [](const Tensor& t) { return &t; });
  std::stable_sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return detail::bits_of_safetensors_dtype(a->dtype) > detail::bits_of_safetensors_dtype(b->dtype);
  });

  // The header is written by hand: a JSON object of the library would sort the tensors by name.
  std::string header;
  if (!metadata_.empty()) header = "\"__metadata__\":" + nlohmann::json(metadata_).dump();
  std::uint64_t position = 0;
  for (const Tensor* tensor : order) {
    header += fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":[{}],\"data_offsets\":[{},{}]}}",
                          header.empty() ? "" : ",", json_string(tensor->name, "name"), tensor->dtype,
                          fmt::join(tensor->shape, ","), position, position + tensor->data.size());
    position += tensor->data.size();
  }
  header = "{" + header + "}";
  // Spaces, since the format allows no others; with them the data begins at a multiple of 8.
  header.append((8 - header.size() % 8) % 8, ' ');
  check(header.size() <= detail::kMaxHeaderBytes, kOp, "header length is {}, more than the limit {}",
        header.size(), detail::kMaxHeaderBytes);

  start.resize(8 + header.size());
  detail::store_little_endian(static_cast<std::uint64_t>(header.size()), start.data());
  std::transform(header.begin(), header.end(), start.begin() + 8, [](char c) { return std::byte(c); });
  std::vector<std::span<const std::byte>> list = {start};
  for (const Tensor* tensor : order) list.emplace_back(tensor->data);
  return list;
}

std::vector<std::byte> SafetensorsWriter::bytes() const {
  std::vector<std::byte> start, file;
  for (const std::span<const std::byte> piece : pieces(start))
    file.insert(file.end(), piece.begin(), piece.end());
  return file;
}

void SafetensorsWriter::write(const std::filesystem::path& path) const {
  // Not through bytes(): the state of an optimiser is large enough without a copy.
  std::vector<std::byte> start;
  write_file_atomically(path, pieces(start));
}

std::string SafetensorsWriter::write_sealed(const std::filesystem::path& path) {
  set_metadata(detail::kChecksumKey, detail::kNoChecksum);
  std::vector<std::byte> start;
  const std::vector<std::span<const std::byte>> all = pieces(start);
  const std::string sum = detail::sealed_checksum(start, {all.begin() + 1, all.end()});
  const std::size_t at = detail::find_checksum({reinterpret_cast<const char*>(start.data()), start.size()});
  std::transform(sum.begin(), sum.end(), start.begin() + static_cast<std::ptrdiff_t>(at),
                 [](char c) { return std::byte(c); });
  write_file_atomically(path, all);
  return sum;
}

}  // namespace minigpt
