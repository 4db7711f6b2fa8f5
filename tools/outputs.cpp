#include "tools/outputs.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "nn/files.h"
#include "tensor/error.h"

namespace minigpt::tools {
namespace {

namespace fs = std::filesystem;

// Is there something by this name, be it a link to nothing?
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  return fs::equivalent(a, b, error) && !error;
}

fs::path folder_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : "."; }

// A run replaces last/ as a whole.
void check_last(const ModelFolder& folder) {
  constexpr std::array<std::string_view, 3> kOwn = {"model.safetensors", "optimizer.safetensors",
                                                    "state.json"};
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder.last(), ignored)) {
    const std::string name = entry.path().filename().string();
    const bool own = std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end() || name.starts_with(".minigpt-");
    check(own, "train", "{} is not of a run, and would be lost with the rest of {}: move it away",
          entry.path().string(), folder.last().string());
  }
}

}  // namespace

void check_output_folder(const fs::path& folder) {
  constexpr std::string_view kOp = "output directory";
  // The folder itself, or the nearest one above it, in which it would be made.
  fs::path at = folder.empty() ? fs::path(".") : folder;
  while (!is_there(at) && at != folder_of(at)) at = folder_of(at);
  std::error_code error;
  const fs::file_status status = fs::status(at, error);
  std::string reason;
  if (!fs::exists(status))
    reason = error && status.type() == fs::file_type::none ? error.message() : "it is a link to nothing";
  else if (!fs::is_directory(status))
    reason = "exists and is not a directory";
  else if (::access(at.c_str(), W_OK | X_OK) != 0)
    reason = "can't create a file in it: " + std::generic_category().message(errno);
  const std::string made = at == folder ? "" : folder.string() + ": can't create the directory: ";
  check(reason.empty(), kOp, "{}{}: {}", made, at.string(), reason);
}

void check_output_file(std::string_view op, const std::string& out,
                       std::initializer_list<std::string> inputs) {
  const fs::path file(out), folder = folder_of(file);
  check(is_folder(folder), op, "--out: {} is not a folder", folder.string());
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  check(!error || status.type() == fs::file_type::not_found, op, "--out: {} cannot be written: {}", out,
        error.message());
  check(!fs::is_directory(status), op, "--out: {} is a folder", out);
  check(!fs::exists(status) || fs::is_regular_file(status), op,
        "--out: {} is a device or a pipe, and no file that can be replaced", out);
  for (const std::string& input : inputs)
    check(input.empty() || !same_file(file, input), op, "--out: {} is the file to read, and would be lost",
          out);
  if (fs::exists(status)) {
    const std::vector<fs::path> parts = ModelFolder(folder).files();
    const bool named_so = std::any_of(parts.begin(), parts.end(),
                                      [&](const fs::path& p) { return p.filename() == file.filename(); }) ||
                          file.filename() == "optimizer.safetensors" || file.filename() == "state.json";
    check(!named_so || !(ModelFolder(folder).has_model() || is_there(folder / "state.json")), op,
          "--out: {} is part of a model, and would be lost", out);
  }
  check_writable_directory(folder);
}

std::string check_room(const ModelFolder& folder, bool overwrite, const std::vector<std::string>& inputs) {
  check_output_folder(folder.path());
  for (const fs::path& file : folder.files()) {
    if (!is_there(file)) continue;
    const bool wanted_folder = file == folder.last();
    check(is_folder(file) == wanted_folder, "train", "{} is {}a folder, which no run has made: move it away",
          file.string(), wanted_folder ? "not " : "");
    for (const std::string& input : inputs)
      check(
          input.empty() || !(same_file(file, input) || (wanted_folder && same_file(file, folder_of(input)))),
          "train", "{} is a file to read, and would be lost: choose another --out", input);
  }
  check_last(folder);
  if (overwrite) return "";
  const bool named = is_there(folder.config());
  check(!folder.has_model(), "train",
        "{} already holds a model; {}replace it with --overwrite, or choose another --out",
        folder.path().string(), named && folder.has_last() ? "go on with --resume, " : "");
  if (!named) {
    for (const fs::path& file : folder.files())
      check(
          !is_there(file), "train",
          "{} is there, but no config.json of the run that it would belong to: replace it with --overwrite, "
          "or choose another --out",
          file.string());
    return "";
  }
  // What is in the folder of a run that never came to its first save is nobody's loss. A config.json of another program is.
  try {
    folder.load_config();
  } catch (const Error&) {
    fail("train",
         "{} is there and cannot be read as that of a model: replace it with --overwrite, or choose another "
         "--out",
         folder.config().string());
  }
  return fmt::format("{} holds a run that ended before its first save; this one takes its place",
                     folder.path().string());
}

}  // namespace minigpt::tools
