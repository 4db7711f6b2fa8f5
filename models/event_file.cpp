#include "models/event_file.h"

#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>

#include "nn/little_endian.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

template <class T>
std::string little_endian(T value) {
  std::array<std::byte, sizeof(T)> bytes;
  detail::store_little_endian(value, bytes.data());
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string masked_checksum(std::string_view data) {
  return little_endian(std::rotr(crc32c(data), 15) + 0xa282ead8u);
}

// --- Protobuf's wire format: key = field number * 8 + type; type 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes.

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value % 128 + 128);
  return bytes + static_cast<char>(value);
}
std::string key(int field, int type) { return varint(static_cast<std::uint64_t>(field * 8 + type)); }
std::string field_varint(int field, std::uint64_t value) { return key(field, 0) + varint(value); }
std::string field_double(int field, double value) {
  return key(field, 1) + little_endian(std::bit_cast<std::uint64_t>(value));
}
std::string field_float(int field, double value) {
  return key(field, 5) + little_endian(std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}
std::string field_bytes(int field, std::string_view value) {
  return key(field, 2) + varint(value.size()) + std::string(value);
}

std::string begin_event(double wall_time, std::int64_t step) {
  return field_double(1, wall_time) + field_varint(2, static_cast<std::uint64_t>(step));
}

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

std::uint32_t crc32c(std::string_view data) {
  std::uint32_t crc = ~0u;
  for (const char c : data) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

std::string event_record(std::string_view event) {
  const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
  return length + masked_checksum(length) + std::string(event) + masked_checksum(event);
}

std::string scalar_event(double wall_time, std::int64_t step,
                         const std::vector<std::pair<std::string, double>>& scalars) {
  std::string summary;
  for (const auto& [tag, value] : scalars)
    summary += field_bytes(1, field_bytes(1, tag) + field_float(2, value));
  return begin_event(wall_time, step) + field_bytes(5, summary);
}

EventLog::EventLog(const std::filesystem::path& dir, std::int64_t from_step, TrainListener& next)
    : next_(next) {
  const double time = now();
  path_ = dir / fmt::format("events.out.tfevents.{}.{}", static_cast<std::int64_t>(time), ::getpid());
  file_ = std::fopen(path_.c_str(), "wb");
  if (!file_)
    throw RunError(fmt::format("[tensorboard] {}: can't create the file: {}", path_.string(),
                               std::generic_category().message(errno)));
  write(field_double(1, time) + field_bytes(3, "brain.Event:2"));
  constexpr std::uint64_t kStart = 1;  // SessionLog::START
  if (from_step > 0) write(begin_event(time, from_step) + field_bytes(7, field_varint(1, kStart)));
}

EventLog::~EventLog() {
  if (file_) std::fclose(file_);
}

void EventLog::fail_write() const {
  throw RunError(fmt::format("[tensorboard] {}: can't write: {}", path_.string(),
                             std::generic_category().message(errno)));
}

void EventLog::write(const std::string& event) {
  const std::string record = event_record(event);
  if (std::fwrite(record.data(), 1, record.size(), file_) != record.size()) fail_write();
  bytes_ += static_cast<std::int64_t>(record.size());
  sum_.add(record);
}

// A full disk shows when the buffer is written.
void EventLog::flush() {
  if (std::fflush(file_) != 0) fail_write();
}

void EventLog::on_step(const StepReport& r) {
  write(
      scalar_event(now(), r.step,
                   {{"loss/train", r.loss}, {"learning_rate", r.learning_rate}, {"grad_norm", r.grad_norm}}));
  next_.on_step(r);
}

void EventLog::on_evaluation(const EvalReport& r) {
  std::vector<std::pair<std::string, double>> scalars = {{"loss/train_evaluation", r.train_loss}};
  if (r.val_loss) scalars.emplace_back("loss/validation", *r.val_loss);
  write(scalar_event(now(), r.step, scalars));
  flush();
  next_.on_evaluation(r);
}

void EventLog::on_save_start(TrainState& state) {
  flush();
  if (::fsync(::fileno(file_)) != 0 && errno != EINVAL) fail_write();
  state.logs[path_.filename().string()] = {bytes_, sum_.text()};
  next_.on_save_start(state);
}

}  // namespace minigpt
