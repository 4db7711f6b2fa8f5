#pragma once
// Damaging and reading safetensors files byte by byte, without the code under test.
//
// Layout: 8 bytes header length (little-endian), a JSON header, then the data. Tests run on little-endian machines.

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

namespace minigpt::test {

struct CheckpointBytes {
  nlohmann::ordered_json header;
  std::string data;

  explicit CheckpointBytes(const std::string& file) {
    std::uint64_t length = 0;
    REQUIRE(file.size() >= 8);
    std::memcpy(&length, file.data(), 8);
    REQUIRE(length <= file.size() - 8);
    header = nlohmann::ordered_json::parse(file.substr(8, length));
    data = file.substr(8 + length);
    // What is changed here is meant to be found by other means.
    if (!header.contains("__metadata__")) return;
    auto& metadata = header["__metadata__"];
    for (const char* key : {"checksum", "step", "settings", "tokenizer", "text"})
      metadata.erase("minigpt." + std::string(key));
  }
  // The file with the header as it is now.
  std::string file() const {
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, 8);
    return bytes + text + data;
  }
};

// A state.json as it was written before states had checksums, so that it may be edited.
inline std::string state_of_version_1(const std::string& state) {
  auto json = nlohmann::ordered_json::parse(state);
  for (const char* key : {"settings", "tokenizer", "files", "logs", "log_starts", "checksum"})
    json.erase(key);
  json["version"] = 1;
  return json.dump(1);
}

// A config.json whose checksum was taken out by whoever edits it.
inline std::string config_without_checksum(const std::string& config) {
  auto json = nlohmann::ordered_json::parse(config);
  json.erase("checksum");
  return json.dump(2) + "\n";
}

// Puts a value in place of the first element of a float32 tensor.
inline std::string with_value(const std::string& file, const std::string& tensor, float value) {
  CheckpointBytes bytes(file);
  REQUIRE(bytes.header[tensor]["dtype"] == "F32");
  std::memcpy(bytes.data.data() + bytes.header[tensor]["data_offsets"][0].get<std::size_t>(), &value,
              sizeof value);
  return bytes.file();
}

inline std::string with_nan(const std::string& file, const std::string& tensor) {
  return with_value(file, tensor, std::numeric_limits<float>::quiet_NaN());
}

// For a file of float32 tensors.
inline bool all_numbers_finite(const std::string& file) {
  const std::string data = CheckpointBytes(file).data;
  for (std::size_t i = 0; i + 4 <= data.size(); i += 4) {
    float value = 0;
    std::memcpy(&value, data.data() + i, 4);
    if (!std::isfinite(value)) return false;
  }
  return true;
}

}  // namespace minigpt::test
