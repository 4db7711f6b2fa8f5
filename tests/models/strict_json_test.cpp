#include "models/strict_json.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "models/model_folder.h"
#include "tensor/error.h"

namespace minigpt::test {
namespace {

using namespace std::string_literals;

TEST_CASE("strict JSON: a valid object is read as it stands") {
  const auto json = parse_json_object(R"({"b": [1, {"x": 2}], "a": {"x": null}})", "op", "f");
  CHECK(json.dump() == R"({"b":[1,{"x":2}],"a":{"x":null}})");
  CHECK(parse_json_object("\xEF\xBB\xBF {} \n", "op", "f").empty());  // a mark that some editors add
}

TEST_CASE("strict JSON: what a lenient parser would let pass") {
  const auto refused = [](const std::string& text, const char* why) {
    CAPTURE(text.substr(0, 100));
    CHECK_THROWS_WITH_AS(parse_json_object(text, "op", "f.json"), doctest::Contains(why), Error);
  };
  refused("{} \0"s, "[op] f.json: not valid JSON: it holds a zero byte");  // what a crash leaves behind
  refused(R"({"a":1,"b":{},"a":2})", "a stands twice");
  refused(R"({"a":{"b":1,"\u0062":2}})", "b stands twice");
  refused("[1]", "must be a JSON object, not array");
  for (const char* empty : {"", "\n", " \t\r\n"}) refused(empty, "not valid JSON: it is empty");
  for (const char* torn : {"{", "{\"a\": 1,\n", "{\"a\": [1, 2"})
    refused(torn, "not valid JSON: it ends too early");
  refused("{\n \"a\": nil}", "not valid JSON, at line 2, column 8");
  refused("{\"a\": 1e999}", "a number is too large");
  refused("{\"a\": \"" + std::string(1 << 20, 'x'), "not valid JSON: it ends too early");
}

TEST_CASE("strict JSON: depth and number of names are bounded, since others walk them") {
  const auto nested = [](int depth) {
    return "{\"a\":" + std::string(static_cast<std::size_t>(depth - 1), '[') +
           std::string(static_cast<std::size_t>(depth - 1), ']') + "}";
  };
  CHECK_NOTHROW(parse_json_object(nested(4), "op", "f"));
  CHECK_THROWS_WITH_AS(parse_json_object(nested(6), "op", "f"), doctest::Contains("nested too deeply"),
                       Error);
  CHECK_THROWS_AS(parse_json_object(nested(1000000), "op", "f"), Error);
  std::string many = "{";
  for (int i = 0; i < 100000; ++i) many += fmt::format("\"{}\":0,", i);
  CHECK_THROWS_WITH_AS(parse_json_object(many, "op", "f"), "[op] f: more than 200 names", Error);
}

TEST_CASE("strict JSON: every file of a model folder is read that way") {
  const std::string deep(1000000, '[');
  TrainConfig config;
  for (const std::string& text :
       {"{\"version\":" + deep, "{\"a\":1,\"a\":2}"s, to_json(config) + '\0', to_json(TrainState()) + '\0'}) {
    CHECK_THROWS_AS(apply_json(config, text, "f"), Error);
    CHECK_THROWS_AS(train_state_from_json(text, "f"), Error);
    CHECK_THROWS_AS(CharTokenizer::from_json(text, "f"), Error);
  }
}

}  // namespace
}  // namespace minigpt::test
