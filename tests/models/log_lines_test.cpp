#include "models/log_lines.h"

#include <doctest/doctest.h>

#include <string>

#include "models/metrics.h"

namespace minigpt {
namespace {

bool readable(std::string_view name, std::string_view line) { return read_log_line(name, line).has_value(); }

TEST_CASE("log lines: what a run writes is read, steps and evaluations apart") {
  StepReport step;
  step.step = 7;
  step.loss = 2.5;
  EvalReport evaluation;
  evaluation.step = 8;
  evaluation.train_loss = 1.5;
  for (const char* name : {"metrics.jsonl", "metrics.csv"}) {
    CAPTURE(name);
    const bool json = std::string_view(name).ends_with(".jsonl");
    const auto read = read_log_line(name, json ? json_line(step, 100) : csv_line(step, 100));
    REQUIRE(read);
    CHECK(read->step == 7);
    CHECK_FALSE(read->evaluation);
    evaluation.val_loss.reset();
    const auto train = read_log_line(name, json ? json_line(evaluation) : csv_line(evaluation));
    REQUIRE(train);
    CHECK(train->step == 8);
    CHECK(train->evaluation);
    CHECK(train->loss == 1.5);
    evaluation.val_loss = 0.1 + 0.2;
    const auto both = read_log_line(name, json ? json_line(evaluation) : csv_line(evaluation));
    REQUIRE(both);
    CHECK(both->loss == 0.1 + 0.2);  // to the bit
  }
  CHECK(readable("metrics.jsonl", R"({"step":3,"loss":null})"));  // was not finite
  CHECK(readable("metrics.csv", "3,nan,0.1,inf,5.0,,"));
  CHECK(readable("watch.jsonl", R"({"step":3,"grad_norm":1,"clip":1,"parameters":[],"layers":[]})"));
}

TEST_CASE("log lines: what no run writes is not read") {
  for (const char* line : {"", "x", "{", "[1]", "7", R"({"loss":1})", R"({"step":-7,"loss":1})",
                           R"({"step":1.5,"loss":1})", R"({"step":"1","loss":1})", R"({"step":1,"loss":"x"})",
                           R"({"step":1,"loss":1e999})", R"({"step":1,"loss":[1]})",
                           R"({"step":1,"train_loss":1,"val_loss":{}})", R"({"step":1,"lr":true})"}) {
    CAPTURE(line);
    CHECK_FALSE(readable("metrics.jsonl", line));
  }
  CHECK_FALSE(readable("metrics.jsonl", std::string(40, '\0')));
  // Printing it again would recurse as deep.
  CHECK_FALSE(
      readable("metrics.jsonl", R"({"step":1,"a":)" + std::string(9999, '[') + std::string(9999, ']') + "}"));
  for (const char* line :
       {"", "x", "1", "1,2", "1,2,3,4,5,6", "1,2,3,4,5,6,7,8", "-1,,,,,1,", "1.5,,,,,1,", "1,x,,,,,",
        "1,2x,,,,,", ",,,,,,", "step,loss,lr,grad_norm,tokens_per_s,train_loss,val_loss"}) {
    CAPTURE(line);
    CHECK_FALSE(readable("metrics.csv", line));
  }
  for (const char* line : {R"({"step":3})", R"({"step":3,"parameters":{},"layers":[]})",
                           R"({"step":3,"clip":"x","parameters":[],"layers":[]})"})
    CHECK_FALSE(readable("watch.jsonl", line));
}

}  // namespace
}  // namespace minigpt
