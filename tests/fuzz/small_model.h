#pragma once
// A model folder to damage, as small as one can be, and a private place for it.

#include <filesystem>
#include <map>
#include <string>

namespace minigpt::test {

// A fresh directory (below $TMPDIR), removed when the process ends. Nothing is read or written outside of it.
class PrivateFolder {
 public:
  PrivateFolder();
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// The text that the model was trained on.
extern const char* const kSmallText;

// Trains a model of some 400 parameters for two steps and leaves its folder at `path`. Every kind of file is there, biases
// and gains, and a state of both optimisers.
void make_small_model(const std::filesystem::path& path);

// Turns a folder into one as versions before checksums wrote it: then a change gets further than to the checksum.
void forget_checksums(const std::filesystem::path& path);

// The files below `path` by their relative names.
std::map<std::string, std::string> files_below(const std::filesystem::path& path);

}  // namespace minigpt::test
