#include "models/text_file.h"

#include <doctest/doctest.h>
#include <stdlib.h>  // mkdtemp
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace minigpt {
namespace {

using namespace std::string_view_literals;
namespace fs = std::filesystem;

// A folder of its own, removed at the end.
struct Folder {
  Folder() {
    std::string name = (fs::temp_directory_path() / "minigpt-text-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  std::string write(std::string_view bytes) const {
    const fs::path file = path / "text.txt";
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }

  fs::path path;
};

TEST_CASE("load_text: the whole file, every byte of it") {
  const Folder folder;
  const LoadedText loaded = load_text(folder.write("\xC3\xB6\r\n\0\x1A z"sv));
  CHECK(loaded.text == U"\u00F6\r\n\0\x1A z"sv);
  CHECK(loaded.path == (folder.path / "text.txt").string());
  CHECK_FALSE(loaded.had_bom);
  CHECK(loaded.notes.empty());

  // Longer than one read, and of exactly that length.
  for (const std::size_t size : {std::size_t{1} << 20, (std::size_t{1} << 20) + 1, std::size_t{3} << 20}) {
    CHECK(load_text(folder.write(std::string(size, 'x'))).text == std::u32string(size, U'x'));
  }
}

TEST_CASE("load_text: what the user should know is a note") {
  const Folder folder;
  const LoadedText marked =
      load_text(folder.write("\xEF\xBB\xBF"
                             "abc"));
  CHECK(marked.text == U"abc");
  CHECK(marked.had_bom);
  REQUIRE(marked.notes.size() == 1);
  CHECK(marked.notes[0] == marked.path + ": a UTF-8 byte-order mark was dropped");

  const LoadedText wide = load_text(folder.write("a\0b\0c\0d\0"sv));
  CHECK(wide.text.size() == 8);  // NUL is data
  REQUIRE(wide.notes.size() == 1);
  CHECK(wide.notes[0].find("UTF-16") != std::string::npos);
}

TEST_CASE("load_text: everything that is not a readable text file is one clear error") {
  const Folder folder;
  const std::string missing = (folder.path / "missing.txt").string();
  CHECK_THROWS_WITH_AS(load_text(missing), ("[text] " + missing + ": no such file").c_str(), Error);
  const std::string directory = folder.path.string();
  CHECK_THROWS_WITH_AS(load_text(directory), ("[text] " + directory + ": is a directory, not a file").c_str(),
                       Error);
  CHECK_THROWS_WITH_AS(load_text("/dev/null"), doctest::Contains("/dev/null: is not a regular file"), Error);
  CHECK_THROWS_AS(load_text(""), Error);
  CHECK_THROWS_WITH_AS(load_text(folder.write("")), doctest::Contains("text.txt: is empty"), Error);
  CHECK_THROWS_WITH_AS(load_text(folder.write("\xEF\xBB\xBF")), doctest::Contains("text.txt: is empty"),
                       Error);
  CHECK_THROWS_WITH_AS(load_text(folder.write("ab\xFF")),
                       doctest::Contains("text.txt: invalid UTF-8 at byte 2: 0xFF"), Error);
  CHECK_THROWS_WITH_AS(load_text(folder.write("\xFF\xFEh\0i\0"sv)), doctest::Contains("UTF-16"), Error);
  // A file below a file, and a path component that is too long.
  CHECK_THROWS_AS(load_text(folder.write("a") + "/b"), Error);
  CHECK_THROWS_AS(load_text(folder.path / std::string(5000, 'x')), Error);
  if (geteuid() != 0) {  // nothing is unreadable to root
    const std::string secret = folder.write("abc");
    fs::permissions(secret, fs::perms::none);
    CHECK_THROWS_WITH_AS(load_text(secret), doctest::Contains("cannot be opened"), Error);
  }
}

TEST_CASE("read_file: an empty file is no error, and the caller's name labels those there are") {
  const Folder folder;
  CHECK(read_file(folder.write(""), "tokenizer").empty());
  CHECK_THROWS_WITH_AS(read_file(folder.path, "tokenizer"), doctest::Contains("[tokenizer] "), Error);
}

TEST_CASE("split_lines: both line endings, empty lines dropped") {
  using Lines = std::vector<std::u32string_view>;
  CHECK(split_lines(U"") == Lines{});
  CHECK(split_lines(U"\n\r\n\n") == Lines{});
  CHECK(split_lines(U"emma\nolivia") == Lines{U"emma", U"olivia"});
  CHECK(split_lines(U"\nemma\r\n\n olivia \n") == Lines{U"emma", U" olivia "});
  CHECK(split_lines(U"a\rb\n\r") == Lines{U"a\rb", U"\r"});  // a lone carriage return ends no line
}

}  // namespace
}  // namespace minigpt
