#include "models/run_logs.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "nn/files.h"

namespace minigpt {
namespace {

// The step of a line, none if there is none to be found in it.
std::optional<std::int64_t> step_of(std::string_view line, bool json) {
  std::int64_t step = 0;
  if (!json) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
    if (error != std::errc() || end == line.data() + line.size() || *end != ',') return std::nullopt;
    return step;
  }
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const auto found = object.find("step");
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

// "3", "3 to 7", "3 to 7, 9 and 11 more".
std::string ranges(const std::vector<bool>& present) {
  constexpr int kShown = 3;
  std::string text;
  std::size_t shown = 0, more = 0;
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i]) continue;
    std::size_t last = i;
    while (last + 1 < present.size() && !present[last + 1]) ++last;
    if (shown < kShown) {
      text += (shown == 0 ? "" : ", ") + std::to_string(i) + (last > i ? fmt::format(" to {}", last) : "");
      ++shown;
    } else {
      more += last - i + 1;
    }
    i = last;
  }
  return more == 0 ? text : text + fmt::format(" and {} more", more);
}

struct Findings {
  std::string missing;     // steps
  std::string unreadable;  // lines, from 1
};

// Looks at the lines before `from_step`; every_step: there should be one for each.
Findings look_through(std::string_view text, bool json, std::int64_t from_step, bool every_step) {
  std::vector<bool> present(every_step ? static_cast<std::size_t>(from_step) : 0);
  std::vector<bool> readable = {true};  // line 0 does not exist
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = text.substr(begin, end - begin);
    const std::optional<std::int64_t> step = step_of(line, json);
    // Evaluations are lines of their own, and made by far not at every step.
    const bool evaluation = json ? line.find("\"train_loss\"") != line.npos : line.find(",,,,,") != line.npos;
    if (step && *step >= 0 && *step < static_cast<std::int64_t>(present.size()) && !evaluation)
      present[static_cast<std::size_t>(*step)] = true;
    readable.push_back(step.has_value() || line.starts_with("step,"));
    begin = end + 1;
  }
  return {ranges(present), ranges(readable)};
}

std::string describe(const std::filesystem::path& path, const std::string& what, const Findings& found) {
  std::string text = fmt::format("{}: {}", path.string(), what);
  if (!found.missing.empty()) text += fmt::format("; these steps are missing: {}", found.missing);
  if (!found.unreadable.empty()) text += fmt::format("; these lines cannot be read: {}", found.unreadable);
  return text;
}

// Nothing if `text`, the content of the file, is as it was; a log without a seal must at least have every step.
std::string damage(const std::filesystem::path& path, std::string_view text, const FileSeal* seal,
                   std::int64_t from_step) {
  const std::string name = path.filename().string();
  const bool json = name.ends_with(".jsonl"), lines = json || name.ends_with(".csv");
  if (!seal) {
    const Findings found = look_through(text, json, from_step, true);
    return found.missing.empty() ? "" : describe(path, "the log is not complete", found);
  }
  const auto bytes = static_cast<std::size_t>(seal->bytes);
  const std::string_view before = text.substr(0, bytes);
  if (text.size() >= bytes && checksum(before) == seal->checksum) return "";
  Findings found;
  if (lines) found = look_through(before, json, from_step, name.starts_with("metrics."));
  return describe(path,
                  text.size() < bytes
                      ? fmt::format("the log was cut back: {} bytes present, {} expected", text.size(), bytes)
                      : "the log is damaged or was edited (its checksum differs)",
                  found);
}

}  // namespace

std::vector<LogDamage> damaged_logs(const ModelFolder& folder, const TrainState& state) {
  std::vector<LogDamage> all;
  const auto look = [&](const std::string& name, const FileSeal* seal) {
    const std::filesystem::path path = folder.path() / name;
    std::error_code ignored;
    std::string text;
    if (!std::filesystem::exists(path, ignored)) {
      text = fmt::format("{}: the file is missing: what it said of the steps before {} is lost",
                         path.string(), state.step);
    } else {
      text = damage(path, read_file(path), seal, state.step);
    }
    if (!text.empty()) all.push_back({name, text});
  };
  for (const auto& [name, seal] : state.logs) look(name, &seal);
  if (state.logs.empty() && state.step > 0) look("metrics.jsonl", nullptr);
  return all;
}

void cut_logs(const ModelFolder& folder, const TrainState& state) {
  for (const auto& [name, seal] : state.logs) {
    if (name.starts_with("events.")) continue;  // TensorBoard is told by the next file where this one ends
    const std::filesystem::path path = folder.path() / name;
    std::error_code error;
    if (std::filesystem::file_size(path, error) <= static_cast<std::uintmax_t>(seal.bytes) || error) continue;
    std::filesystem::resize_file(path, static_cast<std::uintmax_t>(seal.bytes), error);
    if (error)
      throw RunError(fmt::format("[resume] {}: can't cut the file: {}", path.string(), error.message()));
  }
}

}  // namespace minigpt
