// Model folders that were damaged, mixed up or edited.

#include "tests/tools/checkpoint_bytes.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

using namespace std::string_view_literals;

// A copy of the trained model, to be damaged.
struct DamageDesk : Desk {
  DamageDesk() {
    copy_from(trained_desk(), "model");
    write("english.txt", english_text());
  }
  // Every command that reads weights refuses them, in one line with exit code 2.
  void check_refused(std::string_view reason) const {
    for (const char* line :
         {"sample --model model", "eval --model model --data english.txt", "info --model model",
          "gradcheck --model model --elements 1", "train --init-from model --data english.txt --out new"}) {
      const Outcome run = Desk::run(line);
      CAPTURE(line);
      CAPTURE(run.text());
      CHECK(run.code == 2);
      CHECK(run.out.empty());
      CHECK(lines_of(run.err).size() == 1);
      CHECK(contains(run.err, reason));
    }
    CHECK_FALSE(has("new"));
  }
  Outcome resume(std::string_view options = "") const {
    return Desk::run("train --resume --out model --steps 25 " + std::string(options));
  }
};

TEST_CASE("C-01: cut-off weights are refused with the bytes present and expected") {
  const std::string whole = trained_desk().read("model/model.safetensors");
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{64}, whole.size() / 2, whole.size() - 1}) {
    const DamageDesk desk;
    desk.write("model/model.safetensors", whole.substr(0, size));
    const Outcome run = desk.run("sample --model model");
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(contains(run.err, "model/model.safetensors: "));
    CHECK(contains(run.err, size == 0 ? "it is empty"
                                      : "file is incomplete: " + std::to_string(size) + " bytes present"));
  }
}

TEST_CASE("C-01: a resume reads everything before it changes anything") {
  for (const char* name : {"model.safetensors", "optimizer.safetensors", "state.json"}) {
    const DamageDesk desk;
    const std::string file = std::string("model/last/") + name;
    const std::string whole = desk.read(file), log = desk.read("model/metrics.jsonl");
    desk.write(file, whole.substr(0, whole.size() / 2));
    const Outcome run = desk.resume();
    CAPTURE(run.text());
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(contains(run.err, file));
    CHECK(desk.read("model/metrics.jsonl") == log);
    desk.write(file, whole);
    CHECK(desk.resume().code == 0);
  }
}

TEST_CASE("C-02: other files under the name of a model are recognised") {
  const struct {
    std::string bytes;
    std::string_view type;
  } cases[] = {
      {"<!DOCTYPE html><html><body>404</body></html>", "an HTML page"},
      {"PK\x03\x04 archive/data.pkl", "a PyTorch file"},
      {"GGUF\x03 and more of it", "a GGUF model"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"},
      {"This is a plain text.", "plain text"},
  };
  for (const auto& c : cases) {
    const DamageDesk desk;
    desk.write("model/model.safetensors", c.bytes);
    desk.check_refused("model/model.safetensors: not a safetensors file");
    CHECK(contains(desk.run("sample --model model").err, c.type));
  }
  const DamageDesk desk;
  std::filesystem::remove(desk.path() / "model/model.safetensors");
  std::filesystem::create_directory(desk.path() / "model/model.safetensors");
  desk.check_refused("is a directory, not a file");
}

TEST_CASE("C-02: what is not a model folder is refused with what it lacks") {
  const DamageDesk desk;
  CHECK(contains(desk.run("sample --model nowhere").err, "nowhere: no such folder"));
  CHECK(contains(desk.run("sample --model .").err, "not a model folder (it has no config.json)"));
  CHECK(desk.run("sample --model english.txt").code == 2);
  std::filesystem::remove(desk.path() / "model/tokenizer.json");
  desk.check_refused("model/tokenizer.json: no such file");
  desk.write(
      "model/tokenizer.json",
      R"({"format": "minigpt-characters", "version": 1, "document_token": false, "characters": ["a"]})");
  desk.check_refused("tokenizer.json has 1 entries, config.json says vocab_size ");
}

TEST_CASE("C-13: missing, unexpected and misshapen tensors are listed together") {
  const DamageDesk desk;
  CheckpointBytes file(desk.read("model/model.safetensors"));
  auto& header = file.header;
  header["transformer.h.0.mlp.other"] = header["transformer.h.0.mlp.c_fc.weight"];
  header.erase("transformer.h.0.mlp.c_fc.weight");
  header["transformer.ln_f.weight"]["shape"] = {4, 4};
  desk.write("model/model.safetensors", file.file());
  desk.check_refused(
      "missing: transformer.h.0.mlp.c_fc.weight; unexpected: transformer.h.0.mlp.other; not fitting: "
      "transformer.ln_f.weight: (4, 4) in the file, (16) in the model");
}

TEST_CASE("C-13: a type that the model cannot hold is named, not reinterpreted") {
  for (const char* type : {"F16", "BF16"}) {
    const DamageDesk desk;
    CheckpointBytes file(desk.read("model/model.safetensors"));
    auto& entry = file.header["transformer.ln_f.weight"];
    entry["dtype"] = type;
    entry["shape"] = {32};  // 32 x 2 bytes instead of 16 x 4
    desk.write("model/model.safetensors", file.file());
    desk.check_refused("has dtype " + std::string(type));
  }
}

TEST_CASE("M-05, C-13: a config that was edited is refused by its own rules, or by the weights") {
  const auto with = [](std::string_view from, std::string_view to) {
    std::string config = config_without_checksum(trained_desk().read("model/config.json"));
    const auto at = config.find(from);
    REQUIRE(at != config.npos);
    return config.replace(at, from.size(), to);
  };
  const struct {
    std::string config;
    std::string_view reason;
  } cases[] = {
      {with("\"n_head\": 2", "\"n_head\": 3"),
       "n_embd must be divisible by n_head: 16 % 3 != 0; n_head could be 2 or 4"},
      {with("\"n_embd\": 16", "\"n_embd\": 32"), "(48, 16) in the file, (96, 32) in the model"},
      {with("\"n_layer\": 1", "\"n_layer\": 2"), "missing: transformer.h.1."},
      {with("\"block_size\": 16", "\"block_size\": 8"),
       "transformer.wpe.weight: (16, 16) in the file, (8, 16) in the model"},
      {with("\"dropout\": 0.0,", ""), "dropout is missing"},
      {with("\"dropout\"", "\"dropuot\""), "model/config.json: "},
      {with("\"version\": 1", "\"version\": 2"), "version 2 is not known, only 1"},
      {with("minigpt-config", "other-config"), "not a minigpt config"},
      {"<html>", "not valid JSON"},
  };
  for (const auto& c : cases) {
    const DamageDesk desk;
    desk.write("model/config.json", c.config);
    desk.check_refused(c.reason);
    CHECK(desk.resume().code == 2);
  }
}

TEST_CASE("C-13: a resumed run keeps its settings; all that conflict are named") {
  const DamageDesk desk;
  const std::string log = desk.read("model/metrics.jsonl");
  const Outcome run = desk.resume("--layers 3 --channels 32 --lr 0.5 --heads 2");
  CAPTURE(run.text());
  CHECK(run.code == 2);
  CHECK(contains(
      run.err,
      "a resumed run keeps the settings in model/config.json: n_layer is 1, not 3, n_embd is 16, not 32, "
      "learning_rate is 0.01, not 0.5\n"));
  CHECK(contains(desk.resume("--preset names").err, "leave out --preset"));
  CHECK(contains(desk.resume("--overwrite").err, "--resume and --overwrite exclude each other"));
  CHECK(contains(desk.resume("--init-from model").err, "--resume and --init-from exclude each other"));
  CHECK(desk.read("model/metrics.jsonl") == log);
}

TEST_CASE("C-13: a run is resumed on the text that it was started on") {
  const DamageDesk desk;
  std::string other = english_text();
  std::swap(other[0], other[1]);
  desk.write("other.txt", other);
  const Outcome run = desk.resume("--data other.txt");
  CHECK(run.code == 2);
  CHECK(contains(run.err, "the text is not the one this run was started on"));
  desk.write("english.txt", "#");
  CHECK(desk.resume("--data english.txt").code == 2);
}

TEST_CASE(
    "S-04: weights that are not finite are refused by name where they would be used, and else a warning") {
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const DamageDesk desk;
    desk.write("model/model.safetensors",
               with_value(desk.read("model/model.safetensors"), "transformer.h.0.mlp.c_proj.weight", value));
    const std::string fault = "transformer.h.0.mlp.c_proj.weight holds values that are not finite";
    for (const char* line :
         {"sample --model model --prompt The", "eval --model model --data english.txt",
          "heads --model model --text english.txt", "gradcheck --model model",
          "lesson heat-map --model model", "train --init-from model --data english.txt --out new --steps 3"})
      check_refused(desk, line, fault);
    for (const char* line : {"info --model model", "graph --model model",
                             "why --model model --data english.txt --tensor lm_head.weight"}) {
      const Outcome run = desk.run(line);
      CAPTURE(run.text());
      CHECK(run.code == 0);
      CHECK(run.err == "warning: model/model.safetensors: " + fault + "\n");
    }
  }
}

}  // namespace
}  // namespace minigpt::test
