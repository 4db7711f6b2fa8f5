#include "models/train_config.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/gpt.h"
#include "tests/messages.h"

namespace minigpt {
namespace {

// The message with which a JSON text is refused; "" if it is accepted.
std::string refusal(std::string_view json, bool complete = false) {
  TrainConfig config;
  return test::message_of([&] { apply_json(config, json, "c.json", complete); });
}

using test::contains;

TEST_CASE("config: what is written is read back, field by field") {
  for (const std::string& name : preset_names()) {
    TrainConfig config = preset(name);
    config.model.vocab_size = 65;
    config.model.dropout = 0.1;
    config.learning_rate = 1.0 / 3;  // no short decimal
    config.seed = 9007199254740991;
    config.torch_dropout = true;
    config.steps = 123456789012;
    const std::string text = to_json(config);
    TrainConfig back;
    apply_json(back, text, "c.json", true);
    CHECK(to_json(back) == text);
    CHECK(back.learning_rate == config.learning_rate);
    CHECK(back.seed == config.seed);
    CHECK(back.model.vocab_size == 65);
    CHECK(back.model.norm == config.model.norm);
    CHECK(back.documents == config.documents);
  }
}

TEST_CASE("config: a file may name a few fields; the others stay") {
  TrainConfig config = preset("names");
  apply_json(config, R"({"steps": 7, "n_embd": 32, "learning_rate": 1})", "c.json");
  CHECK(config.steps == 7);
  CHECK(config.model.n_embd == 32);
  CHECK(config.learning_rate == 1.0);
  CHECK(config.model.norm == "rms");
  CHECK(contains(refusal(R"({"steps": 7})", true), "c.json: not a minigpt config"));
  CHECK(contains(refusal(R"({"format": "minigpt-config", "version": 1, "steps": 7})", true), "is missing"));
}

TEST_CASE("config: a whole file written before a setting existed is complete, and means what it meant then") {
  TrainConfig config = preset("nanogpt-baby");
  config.model.vocab_size = 65;
  std::string old = to_json(config);
  for (const char* added :
       {"positions", "qk_norm", "zero_init", "optimizer", "muon_momentum", "muon_scale", "checksum"}) {
    const std::size_t start = old.find(fmt::format("  \"{}\"", added));
    REQUIRE(start != std::string::npos);
    old.erase(start, old.find('\n', start) + 1 - start);
  }
  old.replace(old.rfind(','), 1, "");  // that before the checksum
  TrainConfig back;
  apply_json(back, old, "c.json", true);
  CHECK(to_json(back) == to_json(config));
}

TEST_CASE(
    "config: any value that changed since the file was written is noticed, unless its checksum was taken "
    "out") {
  TrainConfig config = preset("names");
  config.model.vocab_size = 27;
  config.text_fingerprint = "400-abc";
  std::string text = to_json(config);
  TrainConfig back;
  apply_json(back, text, "c.json", true);
  CHECK(back.text_fingerprint == "400-abc");
  text.replace(text.find("\"steps\": 1000"), 13, "\"steps\": 1001");
  CHECK_THROWS_WITH_AS(apply_json(back, text, "c.json", true),
                       "[config] c.json: the file is damaged or was edited (its checksum differs)", Error);
  // As the settings of another run they are taken as they are.
  apply_json(back, text, "c.json");
  CHECK(back.steps == 1001);
  text.erase(text.rfind(','), text.rfind('"') + 1 - text.rfind(','));
  apply_json(back, text, "c.json", true);
  CHECK(back.steps == 1001);
}

TEST_CASE("config: the checksum of the settings is that of what a resumed run keeps") {
  const TrainConfig config = preset("quick");
  const auto with = [&](const auto& change) {
    TrainConfig changed = config;
    change(changed);
    return settings_checksum(changed);
  };
  const std::string sum = settings_checksum(config);
  CHECK(with([](auto& c) { c.steps = 5; }) == sum);
  CHECK(with([](auto& c) { c.save_every = 5; }) == sum);
  CHECK(with([](auto& c) { c.learning_rate = 0.5; }) != sum);
  CHECK(with([](auto& c) { c.model.vocab_size = 5; }) != sum);
  CHECK(with([](auto& c) { c.model.positions = "learned"; }) != sum);
}

TEST_CASE("config: an unknown name is refused with the nearest known one") {
  CHECK(refusal(R"({"lerning_rate": 0.1})") ==
        "[config] c.json: there is no setting 'lerning_rate'; did you mean learning_rate?");
  CHECK(contains(refusal(R"({"n_layers": 2})"), "did you mean n_layer?"));
  CHECK(refusal(R"({"colour": 2})") == "[config] c.json: there is no setting 'colour'");
  CHECK(nearest_name("stps", {"steps", "seed"}) == "steps");
  CHECK(nearest_name("steps", {"steps", "seed"}) == "steps");
  CHECK(nearest_name("xyzzyx", {"steps", "seed"}) == "");
  CHECK(nearest_name("", {}) == "");
  // Anything is close to a short word, and dashes are no letters of it.
  CHECK(nearest_name("foo", {"dot"}) == "");
  CHECK(nearest_name("--foo", {"--out"}) == "");
  CHECK(nearest_name("--ot", {"--out"}) == "--out");
  CHECK(nearest_name("-x", {"--x"}) == "");
}

TEST_CASE(
    "config: values of another type, outside the range, or repeated are refused, and nothing is taken") {
  CHECK(refusal(R"({"n_layer": 2.5})") == "[config] c.json: n_layer must be a whole number, got 2.5");
  CHECK(contains(refusal(R"({"n_layer": "2"})"), "whole number"));
  CHECK(contains(refusal(R"({"n_layer": true})"), "whole number"));
  CHECK(refusal(R"({"n_layer": 2.0})") == "");  // a whole number, however it is written
  CHECK(refusal(R"({"steps": 1e3})") == "");
  CHECK(refusal(R"({"n_layer": -1})") == "[config] c.json: n_layer must be 1 to 1000, got -1");
  CHECK(contains(refusal(R"({"n_layer": 0})"), "must be 1 to 1000"));
  CHECK(contains(refusal(R"({"steps": 99999999999999999999})"), "steps must be"));
  CHECK(contains(refusal(R"({"steps": 1e300})"), "steps must be"));
  CHECK(refusal(R"({"dropout": 1.5})") == "[config] c.json: dropout must be 0 or more, below 1, got 1.5");
  CHECK(contains(refusal(R"({"dropout": "0.1"})"), "must be a number"));
  CHECK(contains(refusal(R"({"bias": 1})"), "must be true or false"));
  CHECK(refusal(R"({"norm": "batch"})") == "[config] c.json: norm must be one of layer | rms, got 'batch'");
  CHECK(contains(refusal(R"({"norm": null})"), "must be a string"));
  CHECK(contains(refusal(R"({"beta1": 1})"), "beta1 must be"));
  CHECK(contains(refusal(R"({"steps": 1, "steps": 2})"), "steps stands twice"));
  CHECK(contains(refusal(R"({"version": 2})"), "version 2 is not known"));
  CHECK(contains(refusal("[1]"), "must be a JSON object"));
  CHECK(contains(refusal("{"), "not valid JSON"));
  CHECK(contains(refusal(""), "not valid JSON"));
  CHECK(contains(refusal(R"({"a": [[[[[[1]]]]]]})"), "nested too deeply"));
  CHECK(contains(refusal(R"({"vocab_size": 0})"), "vocab_size must be"));

  TrainConfig config;
  CHECK_THROWS_AS(apply_json(config, R"({"n_layer": 9, "steps": 0})", "c.json"), Error);
  CHECK(config.model.n_layer == TrainConfig().model.n_layer);
}

TEST_CASE("config: every field has an explanation, a name of its own, and a default within its range") {
  struct Look {
    std::set<std::string> names;
    void see(const Field& field) {
      INFO(field.name);
      CHECK(names.insert(field.name).second);
      if (!field.alias.empty()) CHECK(names.insert(field.alias).second);
      CHECK(!field.help.empty());
    }
    void number(const Field& field, double value) {
      see(field);
      CHECK(field.limits.contains(value));
    }
    void operator()(const Field& field, std::int64_t& value) { number(field, static_cast<double>(value)); }
    void operator()(const Field& field, double& value) { number(field, value); }
    void operator()(const Field& field, bool&) { see(field); }
    void operator()(const Field& field, std::string& value) {
      see(field);
      CHECK(std::find(field.choices.begin(), field.choices.end(), value) != field.choices.end());
    }
  };
  for (const std::string& name : preset_names()) {
    TrainConfig config = preset(name);
    Look look;
    config.visit(look);
    CHECK(look.names.contains("n_layer"));
  }
  CHECK(Field("n_layer", "").option() == "--n-layer");
  CHECK(Field("x", "").between(1, 2).range() == "1 to 2");
  CHECK(Field("x", "").one_of({"a", "b"}).range() == "a | b");
  CHECK(Field("x", "").range() == "");
}

TEST_CASE("presets: all fit together, and say what they are; an unknown one lists them") {
  CHECK(preset_names() == std::vector<std::string>{"quick", "nanogpt-cpu", "nanogpt-baby", "names"});
  for (const std::string& name : preset_names()) {
    TrainConfig config = preset(name);
    config.model.vocab_size = 65;
    CHECK_NOTHROW(config.validate());
    CHECK_NOTHROW(config.model.validate());
    CHECK(!preset_help(name).empty());
  }
  CHECK_THROWS_WITH_AS(
      preset("nanogpt"),
      "[preset] there is no preset 'nanogpt'; there are: quick, nanogpt-cpu, nanogpt-baby, names", Error);
  CHECK_THROWS_AS(preset_help(""), Error);
}

// A recipe is what the documents give results for: a number that changes by accident makes them wrong.
TEST_CASE("presets: the recipes") {
  struct Recipe {
    const char* name;
    const char* differs;  // from the default settings
  };
  for (const Recipe& recipe :
       {Recipe{
            "quick",
            R"({"block_size": 128, "positions": "rotary", "norm": "rms", "norm_gain": false, "qk_norm": true,
                      "activation": "relu_squared", "tie_weights": false, "zero_init": true, "optimizer": "muon",
                      "batch_size": 16, "steps": 1100, "learning_rate": 0.01, "min_lr": 0, "schedule": "wsd",
                      "warmup_steps": 10, "lr_decay_steps": 1100, "decay_steps": 660, "eval_batches": 10})"},
        Recipe{"nanogpt-cpu", R"({"steps": 2001, "eval_mode": "batches"})"},
        Recipe{
            "nanogpt-baby",
            R"({"block_size": 256, "n_layer": 6, "n_head": 6, "n_embd": 384, "dropout": 0.2, "batch_size": 64,
                      "steps": 5001, "lr_decay_steps": 5000, "eval_batches": 200, "eval_mode": "batches"})"},
        Recipe{
            "names",
            R"({"block_size": 16, "n_layer": 1, "n_head": 4, "n_embd": 16, "norm": "rms", "norm_gain": false,
                      "activation": "relu", "tie_weights": false, "init_std": 0.08, "documents": true,
                      "batch_size": 1, "steps": 1000, "learning_rate": 0.01, "min_lr": 0, "schedule": "wsd",
                      "warmup_steps": 0, "lr_decay_steps": 1000, "decay_steps": 1000, "beta1": 0.85,
                      "weight_decay": 0, "grad_clip": 0, "eval_every": 500, "eval_batches": 200,
                      "save_every": 1000})"}}) {
    TrainConfig config;
    apply_json(config, recipe.differs, recipe.name);
    CHECK_MESSAGE(to_json(config) == to_json(preset(recipe.name)), recipe.name);
  }
}

TEST_CASE("presets: names has 4,192 parameters with 26 letters; nanogpt-baby has nanoGPT's 10.65 million") {
  const auto size_of = [](const std::string& name, std::int64_t vocab) {
    TrainConfig config = preset(name);
    config.model.vocab_size = vocab;
    Generator rng(1);
    Gpt gpt(config.model, rng);
    return parameter_count(gpt.parameters());
  };
  CHECK(size_of("names", 27) == 4192);  // 26 letters and <doc>
  // nanoGPT reports its number without the position embedding: 10.65 million.
  CHECK(size_of("nanogpt-baby", 65) - 256 * 384 == 10646784);
}

TEST_CASE("config: settings that do not fit together are refused") {
  TrainConfig config = preset("names");
  config.batch_size = 2;
  CHECK_THROWS_WITH_AS(config.validate(), doctest::Contains("batch_size must be 1, got 2"), Error);
  config = TrainConfig();
  config.warmup_steps = config.lr_decay_steps;
  CHECK_THROWS_AS(config.validate(), Error);
  config = TrainConfig();
  config.min_lr = 2 * config.learning_rate;
  CHECK_THROWS_AS(config.validate(), Error);
  config = TrainConfig();
  config.schedule = "linear";
  CHECK_THROWS_WITH_AS(config.validate(), doctest::Contains("linear"), Error);
}

TEST_CASE("config: the schedule and the optimiser get their settings") {
  TrainConfig config;
  config.schedule = "wsd";
  config.learning_rate = 2;
  config.min_lr = 1;
  config.warmup_steps = 10;
  config.lr_decay_steps = 50;
  config.decay_steps = 20;
  const Schedule schedule = config.learning_rate_schedule();
  CHECK(schedule.kind == Schedule::Kind::wsd);
  CHECK(schedule.at(10) == 2);
  CHECK(schedule.at(40) == doctest::Approx(1.5).epsilon(1e-12));
  CHECK(schedule.at(50) == 1);
  config.schedule = "constant";
  CHECK(config.learning_rate_schedule().at(0) == 2);
  config.schedule = "cosine";
  CHECK(config.learning_rate_schedule().at(30) == doctest::Approx(1.5).epsilon(1e-12));

  config.beta1 = 0.5;
  config.beta2 = 0.6;
  config.adam_eps = 0.7;
  const AdamOptions options = config.adam_options();
  CHECK(options.beta1 == 0.5);
  CHECK(options.beta2 == 0.6);
  CHECK(options.eps == 0.7);
  CHECK(options.decoupled_decay);
}

}  // namespace
}  // namespace minigpt
