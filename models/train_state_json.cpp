// state.json: writing and strict reading.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "models/model_folder.h"
#include "models/strict_json.h"
#include "nn/checksum.h"

namespace minigpt {
namespace {

using Json = nlohmann::ordered_json;

// Whether a value is a T as it stands. The library would cut 1.5 down to 1, read true as 1 and wrap -1 around.
template <class T>
bool is_a(const Json& json) {
  if constexpr (std::is_same_v<T, std::uint32_t>)
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= 0xffffffffu;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    // No number here is negative, and none comes near 2^46, a step a millisecond for 2,000 years: products with the number of
    // micro-batches stay below 2^63.
    return json.is_number_unsigned() && json.get<std::uint64_t>() < (std::uint64_t{1} << 46);
  else if constexpr (std::is_same_v<T, double>)
    return json.is_number();
  else if constexpr (std::is_same_v<T, std::string>)
    return json.is_string();
  else
    return json.is_array() && std::all_of(json.begin(), json.end(), is_a<typename T::value_type>);
}

// One field of a JSON object, or an Error that says which.
template <class T>
T get(const Json& json, const char* key, std::string_view source) {
  const auto found = json.find(key);
  check(found != json.end(), "state", "{}: {} is missing", source, key);
  check(is_a<T>(*found), "state", "{}: {} has the wrong type or is out of range", source, key);
  return found->get<T>();
}

std::string dump(const Json& json) { return json.dump(1, ' ', true, Json::error_handler_t::replace); }

using Seals = std::map<std::string, FileSeal>;

void read_seals(const Json& json, const char* key, std::string_view source, Seals& seals) {
  check(json.is_object(), "state", "{}: {} must be an object", source, key);
  for (const auto& [name, seal] : json.items())
    seals[name] = {get<std::int64_t>(seal, "bytes", source), get<std::string>(seal, "checksum", source)};
}

Json seals_json(const Seals& seals) {
  Json json = Json::object();
  for (const auto& [name, seal] : seals) json[name] = {{"bytes", seal.bytes}, {"checksum", seal.checksum}};
  return json;
}

// What version 2 has more than version 1: what the state belongs to, and checksums.
void read_checksums(const Json& json, std::string_view source, TrainState& s) {
  s.settings = get<std::string>(json, "settings", source);
  s.tokenizer = get<std::string>(json, "tokenizer", source);
  const Json files = json.value("files", Json());
  check(files.is_object(), "state", "{}: files must be an object", source);
  s.weights = get<std::string>(files, "weights", source);
  s.optimizer = get<std::string>(files, "optimizer", source);
  s.best = get<std::string>(files, "best", source);
  read_seals(json.value("logs", Json()), "logs", source, s.logs);
  // Younger than the version.
  read_seals(json.value("log_starts", Json::object()), "log_starts", source, s.log_starts);
  // Last, because what is said above is more telling.
  Json without = json;
  without.erase("checksum");
  check(get<std::string>(json, "checksum", source) == checksum(dump(without)), "state",
        "{}: the file is damaged or was edited (its checksum differs)", source);
}

}  // namespace

std::string to_json(const TrainState& s) {
  Json json;
  json["format"] = "minigpt-state";
  json["version"] = 2;
  json["step"] = s.step;
  json["best_loss"] = s.best_loss ? Json(*s.best_loss) : Json();
  json["best_step"] = s.best_step;
  json["evaluations_since_best"] = s.evaluations_since_best;
  json["batch_offsets"] = s.batch_offsets;
  json["text_fingerprint"] = s.text_fingerprint;
  json["data_path"] = s.data_path;
  json["kernel_set"] = s.kernel_set;
  json["generator"] = {{"words", s.generator.words},
                       {"position", s.generator.position},
                       {"pending", s.generator.has_pending ? Json(s.generator.pending) : Json()}};
  json["settings"] = s.settings;
  json["tokenizer"] = s.tokenizer;
  json["files"] = {{"weights", s.weights}, {"optimizer", s.optimizer}, {"best", s.best}};
  json["logs"] = seals_json(s.logs);
  if (!s.log_starts.empty()) json["log_starts"] = seals_json(s.log_starts);
  json["checksum"] = checksum(dump(json));
  return dump(json) + "\n";
}

TrainState train_state_from_json(std::string_view text, std::string_view source) {
  const Json json = parse_json_object(text, "state", source);
  check(json.value("format", Json()) == "minigpt-state", "state", "{}: not a minigpt state", source);
  const Json version = json.value("version", Json());
  check(version == 1 || version == 2, "state", "{}: version {} is not known, only 1 and 2", source,
        version.dump());
  // A version of which a bit has tipped over must not pass for an older one, in which nothing can be verified.
  check(version == 2 || !json.contains("checksum"), "state",
        "{}: version 1 has no checksum, the file is damaged", source);
  TrainState s;
  s.step = get<std::int64_t>(json, "step", source);
  check(json.contains("best_loss"), "state", "{}: best_loss is missing", source);
  if (!json["best_loss"].is_null()) s.best_loss = get<double>(json, "best_loss", source);
  s.best_step = get<std::int64_t>(json, "best_step", source);
  s.evaluations_since_best = get<std::int64_t>(json, "evaluations_since_best", source);
  s.batch_offsets = get<std::vector<std::int64_t>>(json, "batch_offsets", source);
  s.text_fingerprint = get<std::string>(json, "text_fingerprint", source);
  s.data_path = get<std::string>(json, "data_path", source);
  s.kernel_set = get<std::string>(json, "kernel_set", source);
  const Json generator = json.value("generator", Json());
  check(generator.is_object(), "state", "{}: generator must be an object", source);
  const auto words = get<std::vector<std::uint32_t>>(generator, "words", source);
  check(words.size() == s.generator.words.size(), "state", "{}: the generator has {} words, not {}", source,
        words.size(), s.generator.words.size());
  std::copy(words.begin(), words.end(), s.generator.words.begin());
  s.generator.position = get<std::uint32_t>(generator, "position", source);
  check(s.generator.position <= 624, "state", "{}: the generator's position is {}, above 624", source,
        s.generator.position);
  check(generator.contains("pending"), "state", "{}: pending is missing", source);
  s.generator.has_pending = !generator["pending"].is_null();
  if (s.generator.has_pending) s.generator.pending = get<double>(generator, "pending", source);
  if (version == 2) read_checksums(json, source, s);
  return s;
}

}  // namespace minigpt
