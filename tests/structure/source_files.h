#pragma once
// The project's own files, for tests that read them.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt::test {

inline const std::filesystem::path kRoot = MINIGPT_SOURCE_DIR;

inline std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  REQUIRE_MESSAGE(stream.good(), "cannot read " << file.string());
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    lines.emplace_back(text.substr(i, end - i));
    i = end + 1;
  }
  return lines;
}

// Paths relative to the root, sorted, of the .h and .cpp files below some folders.
inline std::vector<std::string> source_files(const std::vector<std::string>& folders) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const fs::path& path = entry.path();
      if (path.extension() == ".h" || path.extension() == ".cpp")
        files.push_back(fs::relative(path, kRoot).generic_string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline const std::vector<std::string> kLayers = {"tensor", "autograd", "nn", "models", "tools"};

inline std::string trimmed(std::string_view line) {
  const auto begin = line.find_first_not_of(" \t");
  if (begin == line.npos) return "";
  return std::string(line.substr(begin, line.find_last_not_of(" \t") - begin + 1));
}

}  // namespace minigpt::test
