// What other kinds of file look like that end up under the name of a model.

#include <algorithm>
#include <cctype>
#include <iterator>

#include "nn/safetensors.h"

namespace minigpt::detail {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view start;
  std::string_view type;
};

// Text formats come first by habit of downloads: a web page or a pointer saved in place of the file.
constexpr Magic kMagics[] = {
    {"version https://git-lfs"sv, "a Git LFS pointer: the file itself was not downloaded (git lfs pull)"sv},
    {"GGUF"sv, "a GGUF model of llama.cpp"sv},
    {"ggml"sv, "an old GGML model"sv},
    {"\x93NUMPY"sv, "a NumPy array (.npy)"sv},
    {"\x89HDF\r\n\x1a\n"sv, "an HDF5 file"sv},
    {"\x1f\x8b"sv, "a gzip archive"sv},
    {"\x28\xb5\x2f\xfd"sv, "a Zstandard archive"sv},
    {"\xfd"
     "7zXZ"sv,
     "an xz archive"sv},
    {"7z\xbc\xaf\x27\x1c"sv, "a 7-zip archive"sv},
    {"%PDF-"sv, "a PDF document"sv},
    {"\x89PNG"sv, "a PNG image"sv},
    {"\x7f"
     "ELF"sv,
     "a program"sv},
};

// No control characters but white space, and UTF-8 as far as it goes (the last character may be cut off).
bool looks_like_text(std::string_view head) {
  for (std::size_t i = 0; i < head.size();) {
    const auto code = static_cast<unsigned char>(head[i++]);
    if (code < 0x80) {
      const bool white = code >= '\t' && code <= '\r';
      if ((code < 0x20 && !white) || code == 0x7F) return false;
      continue;
    }
    if (code < 0xC2 || code > 0xF4) return false;
    for (int follow = code >= 0xF0 ? 3 : code >= 0xE0 ? 2 : 1; follow > 0 && i < head.size(); --follow, ++i)
      if ((static_cast<unsigned char>(head[i]) & 0xC0) != 0x80) return false;
  }
  return true;
}

}  // namespace

std::string recognise_file_type(std::span<const std::byte> head) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  for (const Magic& magic : kMagics)
    if (text.starts_with(magic.start)) return std::string(magic.type);

  if (text.starts_with("PK\x03\x04"sv) || text.starts_with("PK\x05\x06"sv)) {
    // Both PyTorch and NumPy use zip; the name of the first member, in plain sight, tells them apart.
    if (text.find("/data.pkl"sv) != text.npos) return "a PyTorch file (.pt, .pth or .bin, a zip archive)";
    if (text.find(".npy"sv) != text.npos) return "a NumPy archive (.npz)";
    return "a zip archive";
  }
  // Pickle, protocols 2 to 5: the byte 0x80, the protocol, then an opcode.
  if (text.size() > 2 && text[0] == '\x80' && text[1] >= 2 && text[1] <= 5)
    return "a Python pickle (an old PyTorch .pt, .pth or .bin file)";
  if (text.size() > 262 && text.substr(257, 5) == "ustar"sv) return "a tar archive";

  std::string lower;
  std::transform(text.begin(), text.end(), std::back_inserter(lower),
                 [](char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); });
  if (lower.starts_with("\xef\xbb\xbf")) lower.erase(0, 3);
  lower.erase(0, lower.find_first_not_of(" \t\r\n"));
  if (lower.starts_with("<!doctype html") || lower.starts_with("<html"))
    return "an HTML page (was a web page saved in place of the file?)";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return "UTF-16 text";
  if (!looks_like_text(text)) return "";
  if (lower.starts_with("<?xml")) return "XML";
  if (lower.starts_with("{") || lower.starts_with("[")) return "JSON text";
  return "plain text";
}

}  // namespace minigpt::detail
