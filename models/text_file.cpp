#include "models/text_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "models/plural.h"
#include "models/utf8.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

// UTF-16 without a byte-order mark is valid UTF-8 as long as it holds English: every second byte is then a
// NUL. NULs are data, so this can only be a note.
bool looks_like_utf16(std::u32string_view text) {
  const auto nuls = std::count(text.begin(), text.end(), U'\0');
  return text.size() >= 4 && static_cast<std::size_t>(nuls) * 5 >= text.size() * 2;
}

}  // namespace

std::string read_file(const std::filesystem::path& path, std::string_view op) {
  const std::string name = path.string();
  // The kind is asked before opening: opening a pipe waits for its writer, and a directory opens but cannot
  // be read.
  std::error_code code;
  const std::filesystem::file_status status = std::filesystem::status(path, code);
  check(status.type() != std::filesystem::file_type::not_found, op, "{}: no such file", name);
  check(status.type() != std::filesystem::file_type::none, op, "{}: cannot be read: {}", name,
        code.message());
  check(status.type() != std::filesystem::file_type::directory, op, "{}: is a directory, not a file", name);
  check(status.type() == std::filesystem::file_type::regular, op,
        "{}: is not a regular file (a device or a pipe); copy its contents to a file first", name);

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(name.c_str(), "rb"), &std::fclose);
  const int error = file ? 0 : errno;
  // Not the fault of whoever named the file.
  if (error == EMFILE || error == ENFILE || error == ENOMEM)
    throw RunError(fmt::format("[{}] {}: cannot be opened: {}", op, name, std::strerror(error)));
  check(file != nullptr, op, "{}: cannot be opened: {}", name, std::strerror(error));
  std::string bytes;
  // Read to the end rather than to the size the directory shows: the two differ for a file that is still
  // growing. One byte more than that size is asked for, so that most files end within the first piece.
  const std::uintmax_t shown = std::filesystem::file_size(path, code);
  const auto piece = static_cast<std::size_t>(
      std::clamp<std::uintmax_t>(code ? 0 : shown + 1, 4096, std::uintmax_t{1} << 20));
  for (std::size_t got = piece; got == piece;) {
    const std::size_t held = bytes.size();
    bytes.resize(held + piece);
    got = std::fread(bytes.data() + held, 1, piece, file.get());
    bytes.resize(held + got);
  }
  check(std::ferror(file.get()) == 0, op, "{}: reading failed after {}", name,
        count_of(bytes.size(), "byte"));
  return bytes;
}

LoadedText load_text(const std::filesystem::path& path) { return decode_text(read_file(path, "text"), path); }

LoadedText decode_text(std::string_view bytes, const std::filesystem::path& path) {
  LoadedText loaded;
  loaded.path = path.string();
  DecodedText decoded = utf8_decode(bytes, loaded.path);
  check(!decoded.text.empty(), "text", "{}: is empty", loaded.path);
  loaded.text = std::move(decoded.text);
  loaded.had_bom = decoded.had_bom;
  if (loaded.had_bom) loaded.notes.push_back(loaded.path + ": a UTF-8 byte-order mark was dropped");
  if (looks_like_utf16(loaded.text)) {
    loaded.notes.push_back(fmt::format("{}: {} of {} characters are NUL; is this UTF-16 text without a mark?",
                                       loaded.path, std::count(loaded.text.begin(), loaded.text.end(), U'\0'),
                                       loaded.text.size()));
  }
  return loaded;
}

std::vector<std::u32string_view> split_lines(std::u32string_view text) {
  std::vector<std::u32string_view> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find(U'\n', start), text.size());
    std::u32string_view line = text.substr(start, end - start);
    if (end < text.size() && line.ends_with(U'\r')) line.remove_suffix(1);
    if (!line.empty()) lines.push_back(line);
    start = end + 1;
  }
  return lines;
}

}  // namespace minigpt
