#include "models/log_lines.h"

#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

namespace minigpt {
namespace {

using Json = nlohmann::json;

// Deeper than anything that a run writes: whoever prints such a line again would recurse as deep.
constexpr int kDeepest = 16;

bool is_number_or_null(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found == object.end() || found->is_number() || found->is_null();
}

std::optional<LogLine> read_json(std::string_view name, std::string_view line) {
  bool deep = false;
  const auto shallow = [&](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kDeepest;
    return depth <= kDeepest;
  };
  const Json object = Json::parse(line, shallow, false);
  if (deep || !object.is_object()) return std::nullopt;
  const auto step = object.find("step");
  if (step == object.end() || !step->is_number_integer() || step->get<std::int64_t>() < 0)
    return std::nullopt;
  for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s", "train_loss", "val_loss", "clip"})
    if (!is_number_or_null(object, key)) return std::nullopt;
  LogLine read{step->get<std::int64_t>(), object.contains("train_loss"), {}};
  if (name.starts_with("watch."))
    for (const char* key : {"parameters", "layers"})
      if (!object.contains(key) || !object[key].is_array()) return std::nullopt;
  for (const char* key : {"val_loss", "train_loss"})
    if (!read.loss && object.contains(key) && object[key].is_number()) read.loss = object[key].get<double>();
  return read;
}

// The number in a cell of a table, which is written as in JSON, or not finite. (std::from_chars reads no float64 in every
// standard library.)
std::optional<double> number_in(std::string_view cell) {
  if (cell == "nan" || cell == "inf" || cell == "-inf") return std::numeric_limits<double>::quiet_NaN();
  const Json value = Json::parse(cell, nullptr, false);
  return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::optional<LogLine> read_row(std::string_view line) {
  // step, loss, lr, grad_norm, tokens_per_s, train_loss, val_loss
  std::array<std::optional<double>, 7> cells;
  LogLine read;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t end = std::min(line.find(','), line.size());
    const std::string_view cell = line.substr(0, end);
    if ((end == line.size()) != (i + 1 == cells.size())) return std::nullopt;
    line.remove_prefix(std::min(end + 1, line.size()));
    if (i == 0) {
      const auto [stop, error] = std::from_chars(cell.data(), cell.data() + cell.size(), read.step);
      if (error != std::errc() || stop != cell.data() + cell.size() || read.step < 0) return std::nullopt;
    } else if (!cell.empty()) {
      cells[i] = number_in(cell);
      if (!cells[i]) return std::nullopt;
    }
  }
  read.evaluation = !cells[1] && !cells[2] && !cells[3] && !cells[4];
  if (read.evaluation) read.loss = cells[6] ? cells[6] : cells[5];
  return read;
}

}  // namespace

std::optional<LogLine> read_log_line(std::string_view name, std::string_view line) {
  return name.ends_with(".csv") ? read_row(line) : read_json(name, line);
}

}  // namespace minigpt
