#include "models/metrics.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace minigpt {

std::string json_line(const StepReport& r, double tokens_per_s) {
  nlohmann::ordered_json line;
  line["step"] = r.step;
  line["loss"] = r.loss;
  line["lr"] = r.learning_rate;
  line["grad_norm"] = r.grad_norm;
  line["tokens_per_s"] = tokens_per_s;
  return line.dump();
}

std::string json_line(const EvalReport& r) {
  nlohmann::ordered_json line;
  line["step"] = r.step;
  line["train_loss"] = r.train_loss;
  line["val_loss"] = r.val_loss ? nlohmann::ordered_json(*r.val_loss) : nlohmann::ordered_json();
  return line.dump();
}

std::string csv_line(const StepReport& r, double tokens_per_s) {
  return fmt::format("{},{},{},{},{:.1f},,", r.step, r.loss, r.learning_rate, r.grad_norm, tokens_per_s);
}

std::string csv_line(const EvalReport& r) {
  return fmt::format("{},,,,,{},{}", r.step, r.train_loss, r.val_loss ? fmt::format("{}", *r.val_loss) : "");
}

void Stopwatch::step(std::int64_t tokens) {
  const Clock::time_point now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  tokens_per_s_ = static_cast<double>(tokens) / std::max(seconds, 1e-9);
  seconds_ += seconds;
  ++steps_;
}

void keep_steps_before(AppendFile& file, std::int64_t from_step) {
  file.cut_after_last([from_step](std::string_view line) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object()) return false;
    const auto step = json.find("step");
    return step != json.end() && step->is_number_integer() && step->get<std::int64_t>() < from_step;
  });
}

MetricsLog::MetricsLog(const std::filesystem::path& path, std::int64_t from_step, TrainListener& next)
    : file_(path), table_(std::filesystem::path(path).replace_extension(".csv")), next_(next) {
  keep_steps_before(file_, from_step);
  const std::int64_t kept = table_.cut_after_last([from_step](std::string_view line) {
    if (line == kTableHeader) return true;
    std::int64_t step = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), step);
    return error == std::errc() && end != line.data() + line.size() && *end == ',' && step < from_step;
  });
  if (kept == 0) table_.append_line(kTableHeader);
  file_start_ = file_.seal();
  table_start_ = table_.seal();
  watch_.restart();
}

void MetricsLog::on_step(const StepReport& report) {
  watch_.step(report.tokens);
  file_.append_line(json_line(report, watch_.tokens_per_s()));
  table_.append_line(csv_line(report, watch_.tokens_per_s()));
  file_start_ = file_.seal();
  table_start_ = table_.seal();
  next_.on_step(report);
}

void MetricsLog::on_evaluation_start(std::int64_t step) { next_.on_evaluation_start(step); }

void MetricsLog::on_evaluation(const EvalReport& report) {
  file_.append_line(json_line(report));
  table_.append_line(csv_line(report));
  next_.on_evaluation(report);
  watch_.restart();
}

void MetricsLog::on_save_start(TrainState& state) {
  // Before the state: after a power cut it must not speak of lines that never reached the disk.
  file_.sync();
  table_.sync();
  state.logs["metrics.jsonl"] = file_.seal();
  state.logs["metrics.csv"] = table_.seal();
  state.log_starts = {{"metrics.jsonl", file_start_}, {"metrics.csv", table_start_}};
  next_.on_save_start(state);
}

void MetricsLog::on_save(std::int64_t step) {
  next_.on_save(step);
  watch_.restart();
}

}  // namespace minigpt
