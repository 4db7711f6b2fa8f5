// config.json: writing and strict reading.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/strict_json.h"
#include "models/train_config.h"
#include "nn/checksum.h"

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
    if (!field.limits.contains(value)) refuse(field, json, field.range());
  }
  [[noreturn]] void refuse(const Field& field, const Json& json, std::string_view wanted) {
    fail("config", "{}: {} must be {}, got {}", source_, field.name, wanted, json.dump());
  }

  const Json& json_;
  std::string_view source_;
  bool complete_;
  std::vector<std::string> names_;
};

// The settings that a resumed run keeps, a line each. One that was added later counts only if it was changed, so that
// folders written before it existed keep their checksum.
struct FixedSettings {
  std::string text;
  std::vector<std::string> defaults;
  std::size_t index = 0;
  bool collect = false;  // first the defaults, then the values

  template <class T>
  void operator()(const Field& field, T& value) {
    std::string line = fmt::format("{}={}\n", field.name, value);
    if (collect)
      defaults.push_back(std::move(line));
    else if (const std::string& usual = defaults[index++]; field.fixed && (field.required || line != usual))
      text += line;
  }
};

std::string checksum_of(Json json) {
  json.erase("checksum");
  return checksum(json.dump());
}

}  // namespace

std::string settings_checksum(const TrainConfig& config) {
  FixedSettings settings;
  TrainConfig usual, copy = config;
  settings.collect = true;
  usual.visit(settings);
  settings.collect = false;
  copy.visit(settings);
  return checksum(fmt::format("vocab_size={}\n{}", config.model.vocab_size, settings.text));
}

std::string to_json(const TrainConfig& config) {
  Json json;
  json["format"] = "minigpt-config";
  json["version"] = 1;
  json["vocab_size"] = config.model.vocab_size;
  TrainConfig copy = config;
  copy.visit(Writer{json});
  if (!config.text_fingerprint.empty()) json["text"] = config.text_fingerprint;
  json["checksum"] = checksum_of(json);
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
    if (key == "format" || key == "version" || key == "text" || key == "checksum") continue;
    if (std::find(reader.names().begin(), reader.names().end(), key) != reader.names().end()) continue;
    const std::string near = nearest_name(key, reader.names());
    fail("config", "{}: there is no setting '{}'{}", source, key,
         near.empty() ? "" : "; did you mean " + near + "?");
  }
  if (complete) {
    const Json text_mark = json.value("text", Json("")), sum = json.value("checksum", Json());
    check(text_mark.is_string(), "config", "{}: text must be a string, got {}", source, text_mark.dump());
    read.text_fingerprint = text_mark.get<std::string>();
    // Last, because what is said above is more telling. Settings of a folder are changed with options.
    check(sum.is_null() || sum == checksum_of(json), "config",
          "{}: the file is damaged or was edited (its checksum differs)", source);
  }
  config = read;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  // Further away than three edits, or than every second letter, is no suggestion: anything is close to a short word.
  const std::size_t letters = name.size() - std::min(name.size(), name.find_first_not_of('-'));
  std::size_t best_distance = std::min<std::size_t>(3, letters / 2) + 1;
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
