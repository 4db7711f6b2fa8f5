#pragma once
// The event files that TensorBoard reads.
//
// A file is a row of records: length (8 bytes), checksum of the length, the bytes, checksum of the bytes. All numbers are
// little-endian; a checksum is CRC-32C, turned right by 15 bits plus a constant ("masked", so that checksums of data that
// holds checksums stay good). The bytes are an Event of TensorFlow's event.proto in protobuf's wire format; only these
// fields are used:
//   Event:          1 wall_time (double)  2 step (int64)  3 file_version (string)  5 summary (Summary)  7 session_log
//   Summary:        1 value (repeated Value);   Value: 1 tag (string)  2 simple_value (float);   SessionLog: 1 status (enum)
// Sources: tensorflow/core/lib/io/record_writer.h (format), tensorflow/core/util/event.proto (fields).

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/trainer.h"

namespace minigpt {

// CRC-32C (Castagnoli), of "123456789": 0xE3069283.
std::uint32_t crc32c(std::string_view data);

// One record with these bytes.
std::string event_record(std::string_view event);

// An Event with one scalar per (tag, value).
std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& scalars);

// Writes loss/train, loss/validation, learning_rate, grad_norm of a run into DIR/events.out.tfevents.<seconds>.<process>,
// and passes everything on. Throws RunError if it cannot be written.
class EventLog : public TrainListener {
 public:
  // A resumed run begins a new file, and tells TensorBoard to forget what came at `from_step` and later.
  EventLog(const std::filesystem::path& dir, std::int64_t from_step, TrainListener& next);
  ~EventLog() override;
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  void on_step(const StepReport& report) override;
  void on_evaluation_start(std::int64_t step) override { next_.on_evaluation_start(step); }
  void on_evaluation(const EvalReport& report) override;
  void on_save_start(TrainState& state) override;
  void on_save(std::int64_t step) override { next_.on_save(step); }

 private:
  void write(const std::string& event);
  void flush();
  [[noreturn]] void fail_write() const;

  std::filesystem::path path_;
  std::FILE* file_ = nullptr;
  std::int64_t bytes_ = 0;
  Checksum sum_;
  TrainListener& next_;
};

}  // namespace minigpt
