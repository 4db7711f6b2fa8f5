#include "models/run_logs.h"

#include <optional>

#include "models/log_lines.h"
#include "models/metrics.h"
#include "nn/files.h"

namespace minigpt {
namespace {

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

// Such a line is none of a run's, but can be read.
bool is_header(const std::string& name, std::string_view line) {
  return name.ends_with(".csv") && line == kTableHeader;
}

struct Findings {
  std::string missing;     // steps
  std::string unreadable;  // lines, from 1
  bool broken = false;     // of these, some that were not just torn at the end
  bool foreign = false;    // the best evaluation is another one than this run's
};

// The first `bytes` of the text belong to the state; the best evaluation of another run may lie behind them. every_step: there
// should be a line for each step before the state.
Findings look_through(const std::string& name, std::string_view text, std::size_t bytes,
                      const TrainState& state, bool every_step) {
  Findings found;
  bool best_seen = false, best_differs = false;
  std::vector<bool> present(every_step ? static_cast<std::size_t>(state.step) : 0);
  std::vector<bool> readable = {true};  // line 0 does not exist
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view text_of_line = text.substr(begin, end - begin);
    const std::optional<LogLine> line = read_log_line(name, text_of_line);
    if (line && line->evaluation && line->step == state.best_step && state.best_loss && line->loss)
      (*line->loss == *state.best_loss ? best_seen : best_differs) = true;
    const bool counts = begin < bytes;
    begin = end + 1;
    if (!counts) continue;
    readable.push_back(line || is_header(name, text_of_line));
    found.broken = found.broken || (!readable.back() && end < text.size());
    // Evaluations are lines of their own, and made by far not at every step.
    if (line && !line->evaluation && line->step < static_cast<std::int64_t>(present.size()))
      present[static_cast<std::size_t>(line->step)] = true;
  }
  found.foreign = best_differs && !best_seen;
  found.missing = ranges(present);
  found.unreadable = ranges(readable);
  return found;
}

LogDamage describe(const std::string& name, const std::string& what, const Findings& found) {
  LogDamage damage{name, what, LogRemedy::none};
  if (found.foreign) {
    damage.text += "; its best evaluation is not that of this run";
    damage.remedy = LogRemedy::begin_anew;
    return damage;
  }
  if (!found.missing.empty()) damage.text += fmt::format("; these steps are missing: {}", found.missing);
  if (!found.unreadable.empty())
    damage.text += fmt::format("; these lines cannot be read: {}", found.unreadable);
  if (found.broken) damage.remedy = LogRemedy::drop_lines;
  return damage;
}

// The text without a last line that a crash has torn, or that is just being written.
std::string_view complete_lines(std::string_view text) { return text.substr(0, text.rfind('\n') + 1); }

bool holds(std::string_view text, const FileSeal& seal) {
  const auto bytes = static_cast<std::size_t>(seal.bytes);
  return text.size() >= bytes && checksum(text.substr(0, bytes)) == seal.checksum;
}

// Whether the log is that of a run which went on from the state, dropped the evaluation that the state ends with, to make it
// anew in its time, and was killed before its first save.
bool went_on(const std::string& name, std::string_view text, const TrainState& state) {
  const auto start = state.log_starts.find(name);
  if (start == state.log_starts.end() || !holds(text, start->second)) return false;
  const std::string_view rest = text.substr(static_cast<std::size_t>(start->second.bytes));
  const std::optional<LogLine> next = read_log_line(name, rest.substr(0, rest.find('\n')));
  return rest.find('\n') == rest.npos ? rest.empty() : next && !next->evaluation && next->step == state.step;
}

// Nothing if `text`, the content of the log, is as it was; a log without a seal must at least have every step.
std::optional<LogDamage> damage_of(const std::string& name, std::string_view text, const FileSeal* seal,
                                   const TrainState& state) {
  const bool lines = name.ends_with(".jsonl") || name.ends_with(".csv");
  if (!seal) {
    const Findings found = look_through(name, complete_lines(text), text.size(), state, true);
    if (found.missing.empty() && found.unreadable.empty()) return std::nullopt;
    return describe(name, found.missing.empty() ? "the log is damaged" : "the log is not complete", found);
  }
  if (holds(text, *seal) || went_on(name, text, state)) return std::nullopt;
  const auto bytes = static_cast<std::size_t>(seal->bytes);
  Findings found;
  if (lines) found = look_through(name, text, bytes, state, name.starts_with("metrics."));
  // Made anew after the state, perhaps on a machine that computes other digits: then the steps are ours all the same.
  const auto start = state.log_starts.find(name);
  if (start != state.log_starts.end() && holds(text, start->second)) found.foreign = false;
  return describe(name,
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
    std::optional<LogDamage> damage;
    if (!std::filesystem::exists(path, ignored))
      damage = LogDamage{
          name, fmt::format("the file is missing: what it said of the steps before {} is lost", state.step),
          LogRemedy::none};
    else
      damage = damage_of(name, read_file(path), seal, state);
    if (!damage) return;
    damage->text = fmt::format("{}: {}", path.string(), damage->text);
    all.push_back(*damage);
  };
  for (const auto& [name, seal] : state.logs) look(name, &seal);
  if (state.logs.empty() && state.step > 0) look("metrics.jsonl", nullptr);
  return all;
}

std::vector<std::string> history_damage(const ModelFolder& folder) {
  std::vector<std::string> notes;
  TrainState state;
  try {
    const std::filesystem::path file = folder.last() / "state.json";
    if (folder.has_last()) state = train_state_from_json(read_file(file), file.string());
  } catch (const Error& e) {
    notes.push_back(fmt::format("{}; what the logs should hold is not known", e.what()));
  }
  for (const char* name : {"metrics.jsonl", "watch.jsonl"}) {
    TrainState own = state;
    std::erase_if(own.logs, [&](const auto& log) { return log.first != name; });
    const bool sealed = !own.logs.empty();
    // A state of version 1 speaks of no log at all; only metrics.jsonl must be there then.
    if (!sealed && (!state.logs.empty() || name != std::string_view("metrics.jsonl"))) own.step = 0;
    const std::vector<LogDamage> damages = damaged_logs(folder, own);
    for (const LogDamage& damage : damages) notes.push_back(damage.text);
    const std::filesystem::path path = folder.path() / name;
    std::error_code ignored;
    if (!damages.empty() || !std::filesystem::exists(path, ignored)) continue;
    const std::string text = read_file(path);
    const std::string unreadable =
        look_through(name, complete_lines(text), text.size(), {}, false).unreadable;
    if (!unreadable.empty())
      notes.push_back(fmt::format("{}: these lines cannot be read: {}", path.string(), unreadable));
  }
  return notes;
}

std::filesystem::path damaged_copy(const ModelFolder& folder, const std::string& name) {
  const std::filesystem::path first = folder.path() / (name + ".damaged");
  std::filesystem::path path = first;
  std::error_code ignored;
  for (int number = 2; std::filesystem::exists(std::filesystem::symlink_status(path, ignored)); ++number)
    path = first.string() + "-" + std::to_string(number);
  return path;
}

void mend_log(const ModelFolder& folder, const TrainState& state, const LogDamage& damage) {
  if (damage.remedy == LogRemedy::none) return;
  const std::filesystem::path path = folder.path() / damage.name;
  const std::string text = read_file(path);
  std::string good;
  if (damage.name.ends_with(".csv")) good = fmt::format("{}\n", kTableHeader);
  for (std::size_t begin = 0; begin < text.size() && damage.remedy == LogRemedy::drop_lines;) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    const std::optional<LogLine> read = read_log_line(damage.name, line);
    if (read && read->step < state.step) good.append(line) += '\n';
    begin = end + 1;
  }
  write_file_atomically(damaged_copy(folder, damage.name), text);
  write_file_atomically(path, good);
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
