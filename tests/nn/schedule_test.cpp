#include "nn/schedule.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "nn/files.h"
#include "tensor/error.h"

using namespace minigpt;

namespace {

Schedule wsd() {
  Schedule s;
  s.kind = Schedule::Kind::wsd;
  s.learning_rate = 1.0;
  s.min_lr = 0.2;
  s.warmup_iters = 4;
  s.lr_decay_iters = 20;
  s.decay_iters = 8;
  return s;
}

// The message with which a schedule is refused; "" if it is valid.
std::string refusal(const Schedule& s) {
  try {
    s.validate();
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the cosine schedule gives nanoGPT's rates") {
  const char* folder = std::getenv("MINIGPT_REFERENCE");
  const std::string path =
      std::string(folder ? folder : MINIGPT_SOURCE_DIR "/tests/reference") + "/optim.json";
  const auto reference = nlohmann::json::parse(read_file(path));
  REQUIRE(reference.at("schedule").size() >= 4);
  for (const auto& expected : reference.at("schedule")) {
    Schedule s;
    s.kind = Schedule::Kind::cosine;
    s.learning_rate = expected.at("learning_rate");
    s.min_lr = expected.at("min_lr");
    s.warmup_iters = expected.at("warmup_iters");
    s.lr_decay_iters = expected.at("lr_decay_iters");
    REQUIRE(!expected.at("values").empty());
    for (const auto& point : expected.at("values")) {
      const std::int64_t it = point.at(0);
      const double rate = point.at(1);
      CAPTURE(it);
      CHECK(std::abs(s.at(it) - rate) <= 1e-12 * std::abs(rate));
    }
  }
}

TEST_CASE("the cosine schedule is halfway down in the middle and flat after the end") {
  Schedule s;
  s.learning_rate = 3.0;
  s.min_lr = 1.0;
  s.warmup_iters = 0;
  s.lr_decay_iters = 10;
  CHECK(s.at(0) == 3.0);
  CHECK(s.at(5) == doctest::Approx(2.0).epsilon(1e-15));
  CHECK(s.at(10) == 1.0);
  CHECK(s.at(11) == 1.0);
  CHECK(s.at(std::numeric_limits<std::int64_t>::max()) == 1.0);
}

TEST_CASE("warm-up, stable, decay") {
  const Schedule s = wsd();
  const double expected[] = {0.2, 0.4, 0.6, 0.8,                         // (it + 1) / 5
                             1,   1,   1,   1,   1,   1,   1,   1,   1,  // stable up to 20 - 8
                             0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.2,
                             0.2};  // down by 0.8 / 8 each, then flat
  for (std::int64_t it = 0; it < 23; ++it) {
    CAPTURE(it);
    CHECK(s.at(it) == doctest::Approx(expected[it]).epsilon(1e-14));
  }
}

TEST_CASE("a constant schedule uses nothing but its rate") {
  Schedule s;
  s.kind = Schedule::Kind::constant;
  s.learning_rate = 0.5;
  s.min_lr = 2.0;
  s.warmup_iters = -1;
  for (const std::int64_t it : {0, 1, 1'000'000}) CHECK(s.at(it) == 0.5);
}

TEST_CASE("T-03: the rate depends on the iteration alone, so a resumed run continues the same curve") {
  const Schedule unbroken = wsd(), resumed = wsd();
  for (std::int64_t it = 20; it >= 0; --it) CHECK(resumed.at(it) == unbroken.at(it));
}

TEST_CASE("schedules that make no sense are refused with both values") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  CHECK(refusal(wsd()).empty());
  for (const double bad : {0.0, -1e-3, nan, inf}) {
    Schedule s = wsd();
    s.learning_rate = bad;
    CHECK(refusal(s).starts_with("[schedule] learning_rate must be positive and finite, is "));
    s.kind = Schedule::Kind::constant;
    CHECK_THROWS_AS(s.at(0), Error);
  }
  for (const double bad : {-1e-3, nan, inf}) {
    Schedule s = wsd();
    s.min_lr = bad;
    CHECK(refusal(s).starts_with("[schedule] min_lr must be finite and not negative, is "));
  }
  Schedule s = wsd();
  s.min_lr = 1.5;
  CHECK(refusal(s) == "[schedule] min_lr must not exceed learning_rate: 1.5 > 1");
  s = wsd();
  s.warmup_iters = -1;
  CHECK(refusal(s) == "[schedule] warmup_iters must not be negative, is -1");
  s = wsd();
  s.warmup_iters = 20;
  CHECK(refusal(s) == "[schedule] warmup_iters must be less than lr_decay_iters: 20 >= 20");
  s = wsd();
  s.decay_iters = 0;
  CHECK(refusal(s) == "[schedule] decay_iters must be positive, is 0");
  s = wsd();
  s.decay_iters = 17;
  CHECK(refusal(s) == "[schedule] warm-up and decay must fit in lr_decay_iters: 4 + 17 > 20");
  s.decay_iters = 16;
  CHECK(refusal(s).empty());
  CHECK_THROWS_WITH_AS(s.at(-1), "[schedule] iteration must not be negative, is -1", Error);
}
