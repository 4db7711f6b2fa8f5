#include "models/event_file.h"

#include <doctest/doctest.h>

#include <cstring>

#include "nn/files.h"
#include "tests/models/tiny_models.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

using test::Recorder;
using test::TemporaryFolder;

std::uint64_t number(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// The events of a file, with both checksums of every record checked.
std::vector<std::string> events_of(std::string_view file) {
  const auto good = [](std::string_view data, std::string_view checksum) {
    const std::uint32_t crc = crc32c(data);
    return static_cast<std::uint32_t>((crc >> 15 | crc << 17) + 0xa282ead8u) == number(checksum);
  };
  std::vector<std::string> events;
  while (!file.empty()) {
    REQUIRE(file.size() >= 16);
    const std::size_t length = number(file.substr(0, 8));
    REQUIRE(file.size() >= 16 + length);
    CHECK(good(file.substr(0, 8), file.substr(8, 4)));
    CHECK(good(file.substr(12, length), file.substr(12 + length, 4)));
    events.emplace_back(file.substr(12, length));
    file.remove_prefix(16 + length);
  }
  return events;
}

TEST_CASE("crc32c: the check value of the Castagnoli polynomial, and of nothing") {
  CHECK(crc32c("123456789") == 0xE3069283u);
  CHECK(crc32c("") == 0);
}

TEST_CASE("event: the bytes of protobuf, field by field") {
  const std::string event = scalar_event(1.0, 300, {{"a", 0.5}});
  const std::string expected = std::string("\x09\x00\x00\x00\x00\x00\x00\xF0\x3F", 9) +  // 1: wall_time 1.0
                               "\x10\xAC\x02" +                                          // 2: step 300
                               "\x2A\x0A" +  // 5: a summary of 10 bytes
                               "\x0A\x08" +  //   1: a value of 8 bytes
                               "\x0A\x01"
                               "a" +                                    //     1: tag
                               std::string("\x15\x00\x00\x00\x3F", 5);  //     2: simple_value 0.5
  CHECK(event == expected);
}

TEST_CASE("event log: a version, then steps and evaluations; a resumed run says where it begins") {
  const TemporaryFolder folder;
  Recorder next;
  {
    EventLog log(folder.path(), 7, next);
    StepReport step;
    step.step = 7;
    step.loss = 2;
    step.learning_rate = 0.125;
    step.grad_norm = 0.5;
    log.on_step(step);
    EvalReport evaluation;
    evaluation.step = 8;
    evaluation.val_loss = 3;
    log.on_evaluation(evaluation);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      CHECK(events_of(read_file(entry.path())).size() == 4);  // an evaluation can be seen at once
    log.on_save(8);
  }
  CHECK(next.steps.size() == 1);
  CHECK(next.evaluations.size() == 1);
  CHECK(next.saves == std::vector<std::int64_t>{8});
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) file = entry.path();
  CHECK(file.filename().string().starts_with("events.out.tfevents."));
  const std::vector<std::string> events = events_of(read_file(file));
  REQUIRE(events.size() == 4);
  CHECK(
      events[0].ends_with("\x1A\x0D"
                          "brain.Event:2"));
  CHECK(events[1].ends_with(std::string("\x10\x07\x3A\x02\x08\x01")));  // step 7, session log: start
  for (const char* tag : {"loss/train", "learning_rate", "grad_norm"})
    CHECK(events[2].find(tag) != std::string::npos);
  CHECK(events[2].find(std::string("learning_rate\x15\0\0\0\x3E", 18)) != std::string::npos);  // 0.125
  CHECK(events[2].find(std::string("grad_norm\x15\0\0\0\x3F", 14)) != std::string::npos);      // 0.5
  CHECK(events[3].find("loss/validation") != std::string::npos);
  CHECK_THROWS_AS(EventLog(folder.path() / "missing", 0, next), RunError);
}

}  // namespace
}  // namespace minigpt
