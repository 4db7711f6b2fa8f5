// config.json: writing and strict reading.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/strict_json.h"
#include "models/train_config.h"

namespace minigpt {
namespace {

using Json = nlohmann::ordered_json;

struct Writer {
  Json& out;
  template <class T>
  void operator()(const Field& field, T& value) {
    out[field.name] = value;
  }
};

class Reader {
 public:
  Reader(const Json& json, std::string_view source, bool complete)
      : json_(json), source_(source), complete_(complete) {}

  template <class T>
  void operator()(const Field& field, T& value) {
    names_.push_back(field.name);
    const auto found = json_.find(field.name);
    if (found == json_.end()) {
      check(!complete_ || !field.required, "config", "{}: {} is missing", source_, field.name);
      return;
    }
    read(field, *found, value);
  }

  const std::vector<std::string>& names() const { return names_; }

 private:
  void read(const Field& field, const Json& json, std::int64_t& value) {
    const bool whole = json.is_number_integer() ||
                       (json.is_number_float() && std::nearbyint(json.get<double>()) == json.get<double>());
    if (!whole) refuse(field, json, "a whole number");
    in_range(field, json.get<double>(), json);
    value = json.get<std::int64_t>();
  }
  void read(const Field& field, const Json& json, double& value) {
    if (!json.is_number()) refuse(field, json, "a number");
    in_range(field, json.get<double>(), json);
    value = json.get<double>();
  }
  void read(const Field& field, const Json& json, bool& value) {
    if (!json.is_boolean()) refuse(field, json, "true or false");
    value = json.get<bool>();
  }
  void read(const Field& field, const Json& json, std::string& value) {
    if (!json.is_string()) refuse(field, json, "a string");
    const auto& text = json.get_ref<const std::string&>();
    if (std::find(field.choices.begin(), field.choices.end(), text) == field.choices.end())
      fail("config", "{}: {} must be one of {}, got '{}'", source_, field.name, field.range(), text);
    value = text;
  }
  void in_range(const Field& field, double value, const Json& json) {
    if (!(value >= field.low && value <= field.high)) refuse(field, json, field.range());
  }
  [[noreturn]] void refuse(const Field& field, const Json& json, std::string_view wanted) {
    fail("config", "{}: {} must be {}, got {}", source_, field.name, wanted, json.dump());
  }

  const Json& json_;
  std::string_view source_;
  bool complete_;
  std::vector<std::string> names_;
};

}  // namespace

std::string to_json(const TrainConfig& config) {
  Json json;
  json["format"] = "minigpt-config";
  json["version"] = 1;
  json["vocab_size"] = config.model.vocab_size;
  TrainConfig copy = config;
  copy.visit(Writer{json});
  return json.dump(2) + "\n";
}

void apply_json(TrainConfig& config, std::string_view text, std::string_view source, bool complete) {
  const Json json = parse_json_object(text, "config", source);
  const auto has = [&](const char* key, const Json& value) {
    const auto found = json.find(key);
    return found != json.end() && *found == value;
  };
  check(!complete || has("format", "minigpt-config"), "config", "{}: not a minigpt config", source);
  check(!json.contains("version") || has("version", 1), "config", "{}: version {} is not known, only 1",
        source, json.value("version", Json()).dump());

  TrainConfig read = config;
  Reader reader(json, source, complete);
  read.visit(reader);
  reader(Field("vocab_size", "").between(1, 1114113), read.model.vocab_size);
  for (const auto& [key, value] : json.items()) {
    if (key == "format" || key == "version") continue;
    if (std::find(reader.names().begin(), reader.names().end(), key) != reader.names().end()) continue;
    const std::string near = nearest_name(key, reader.names());
    fail("config", "{}: there is no setting '{}'{}", source, key,
         near.empty() ? "" : "; did you mean " + near + "?");
  }
  config = read;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = 4;  // further away than three edits is no suggestion
  for (const std::string& candidate : candidates) {
    if (name.size() >= candidate.size() + best_distance) continue;  // it takes as many edits as it is longer
    std::vector<std::size_t> row(candidate.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= name.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= candidate.size(); ++j) {
        const std::size_t substitute = diagonal + (name[i - 1] != candidate[j - 1]);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row.back() < best_distance && row.back() < candidate.size()) {
      best_distance = row.back();
      best = candidate;
    }
  }
  return best;
}

}  // namespace minigpt
