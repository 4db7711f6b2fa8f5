#include "tests/crash/damage.h"

#include <nlohmann/json.hpp>

namespace minigpt::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) names.push_back(fs::relative(entry.path(), folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

// White space that turned into other white space is no damage.
bool same_to_readers(const std::string& file, const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (!file.ends_with(".json")) return false;
  const json parsed = json::parse(a, nullptr, false);
  return !parsed.is_discarded() && parsed == json::parse(b, nullptr, false);
}

const std::string kInfo = "info --model m --json";
const std::string kSample = "sample --model m --tokens 12 --seed 3 --threads 1";
const std::string kResume = "train --resume --out m --watch 2 --tensorboard --threads 1 --steps " +
                            std::to_string(DamageBench::kGoOnTo);

}  // namespace

DamageBench::DamageBench() {
  const Outcome run = desk_.run(
      "train --preset names --data names.txt --out m --eval-every 4 --eval-batches 2 --save-every 5 --watch "
      "2 "
      "--tensorboard --threads 1 --steps " +
      std::to_string(kSteps));
  REQUIRE_MESSAGE(run.code == 0, run.text());
  files_ = files_below(desk_.path() / "m");
  REQUIRE(files_.size() >= 10);
  for (const std::string& file : files_) whole_[file] = desk_.read("m/" + file);
  info_ = desk_.run(kInfo).out;
  sample_ = desk_.run(kSample).out;
  const Outcome resumed = desk_.run(kResume);
  REQUIRE_MESSAGE(resumed.code == 0, resumed.text());
  CHECK_FALSE(contains(resumed.out, "note: m/"));
  weights_ = desk_.read("m/last/model.safetensors");
  restore();
}

void DamageBench::restore() {
  for (const std::string& name : files_below(desk_.path() / "m")) {
    const auto found = whole_.find(name);
    if (found == whole_.end())
      fs::remove(desk_.path() / "m" / name);
    else if (desk_.read("m/" + name) != found->second)
      desk_.write("m/" + name, found->second);
  }
  for (const auto& [name, content] : whole_)
    if (!desk_.has("m/" + name)) desk_.write("m/" + name, content);
}

void DamageBench::try_content(const std::string& file, const std::string& damaged, const std::string& also) {
  desk_.write("m/" + file, damaged);
  try_now(file, also, same_to_readers(file, damaged, whole_.at(file)));
}

void DamageBench::try_without(const std::string& file) {
  fs::remove(desk_.path() / "m" / file);
  try_now(file, "", false);
}

void DamageBench::try_now(const std::string& file, const std::string& also, bool same) {
  ++counts.tried;
  const auto names_it = [&](const std::string& text) {
    return contains(text, file) || (!also.empty() && contains(text, also));
  };
  for (const std::string& line : {kInfo, kSample}) {
    const std::string& expected = line == kInfo ? info_ : sample_;
    const Outcome run = desk_.run(line);
    // Without the best weights it is the newest ones that are used, and that is said.
    const bool newest = contains(run.err, "so these are the newest weights, not the best");
    const bool good = run.code == 0 && (run.out == expected || (newest && !desk_.has("m/" + file)));
    const bool refused = run.code == 2 && run.out.empty() && refused_in_one_line(run) && names_it(run.err);
    if (!good && !refused) {
      CAPTURE(file);
      CAPTURE(line);
      FAIL_CHECK("neither refused nor right: " << run.text());
    }
  }
  const Outcome run = desk_.run(kResume);
  if (run.code == 2 && run.out.empty() && refused_in_one_line(run) && names_it(run.err)) {
    ++counts.refused;
  } else {
    const bool right = run.code == 0 && desk_.read("m/last/model.safetensors") == weights_;
    const bool said = contains(run.out, "note: m/" + file);
    if (!right || (!said && !same)) {
      CAPTURE(file);
      FAIL_CHECK("neither refused nor recovered and said: " << run.text());
    }
    ++(said ? counts.recovered : counts.harmless);
  }
  restore();
}

}  // namespace minigpt::test
