#pragma once
// Reading a whole file, as bytes or as text.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace minigpt {

// A text in memory. `notes` are lines worth telling the user once; they are not errors.
struct LoadedText {
  std::u32string text;  // one char32_t per character (code point)
  std::string path;
  bool had_bom = false;  // a UTF-8 byte-order mark was dropped
  std::vector<std::string> notes;
};

// The bytes of a regular file, which may be empty.
// Throws Error "[op] FILE: ..." for a missing path, a directory, anything else that is not a regular file (a
// device or a pipe may never end), and a file that cannot be opened or read.
std::string read_file(const std::filesystem::path& path, std::string_view op);

// The characters of a UTF-8 text file.
// Throws what read_file and utf8_decode throw, and Error for a file with no characters in it.
LoadedText load_text(const std::filesystem::path& path);

// The same for bytes that were read from `path` before.
LoadedText decode_text(std::string_view bytes, const std::filesystem::path& path);

// The lines of a text: split at "\n" or "\r\n", empty lines left out. The views point into `text`.
std::vector<std::u32string_view> split_lines(std::u32string_view text);

}  // namespace minigpt
