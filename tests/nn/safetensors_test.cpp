#include "nn/safetensors.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tensor/error.h"
#include "tests/nn/safetensors_support.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// Two tensors and free text, as the writer makes it.
Bytes good_file() {
  SafetensorsWriter writer;
  writer.set_metadata("format", "pt");
  const float weights[] = {1, 2, 3, 4, 5, 6};
  const std::int32_t ids[] = {-1, 7};
  writer.add<float>("weight", {2, 3}, weights);
  writer.add<std::int32_t>("ids", {2}, ids);
  return writer.bytes();
}

}  // namespace

TEST_CASE("a written file is read back") {
  const SafetensorsFile file = parse(good_file());
  CHECK(file.metadata() == std::map<std::string, std::string>{{"format", "pt"}});
  REQUIRE(file.entries().size() == 2);
  CHECK(file.entries()[0].name == "weight");
  CHECK(file.entries()[0].dtype == "F32");
  CHECK(file.entries()[0].shape == std::vector<std::int64_t>{2, 3});
  CHECK(file.entries()[0].begin == 0);
  CHECK(file.entries()[0].end == 24);
  CHECK(values<float>(file, "weight") == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(values<std::int32_t>(file, "ids") == std::vector<std::int32_t>{-1, 7});
  CHECK(file.find("weights") == nullptr);
  CHECK(file.find("") == nullptr);
}

TEST_CASE("C-01: a file cut off anywhere is refused as incomplete") {
  const Bytes good = good_file();
  const std::size_t header_end = good.size() - 32;
  const auto cut = [&](std::size_t length) {
    return refusal(Bytes(good.begin(), good.begin() + static_cast<long>(length)));
  };

  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::string message = cut(length);
    CAPTURE(length);
    CAPTURE(message);
    if (length == 0) {
      CHECK(contains(message, "it is empty"));
    } else if (length < 8) {
      CHECK(contains(message,
                     fmt::format("file is incomplete: {} bytes present, too short for a header", length)));
    } else {
      const std::size_t expected = length < header_end ? header_end : good.size();
      CHECK(contains(message,
                     fmt::format("file is incomplete: {} bytes present, {} expected", length, expected)));
    }
  }
  CHECK(cut(good.size()).empty());
}

TEST_CASE("C-01: a cut-off file with a header of 640 bytes does not pass for a pickle") {
  std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  header.resize(640, ' ');
  Bytes file = make_file(header, 1);
  CHECK(refusal(file).empty());
  file.resize(100);
  CHECK(contains(refusal(file), "file is incomplete: 100 bytes present, 648 expected"));
}

TEST_CASE("C-02: other kinds of file are named") {
  using namespace std::string_view_literals;
  const struct {
    std::string_view content;
    std::string_view type;
  } cases[] = {
      {"<!DOCTYPE html>\n<html><head></head></html>"sv, "an HTML page"},
      {"\xef\xbb\xbf  <HTML lang='en'>"sv, "an HTML page"},
      {"PK\x03\x04\x14\x00\x00\x00\x08\x00"sv, "a zip archive"},
      {"PK\x03\x04\x00\x00\x08\x08\x00\x00 archive/data.pkl"sv, "a PyTorch file"},
      {"PK\x03\x04\x14\x00\x00\x00\x00\x00 x.npy"sv, "a NumPy archive"},
      {"\x80\x02}q\x00(X\x06\x00\x00\x00weight"sv, "a Python pickle"},
      {"GGUF\x03\x00\x00\x00\x23\x01\x00\x00"sv, "a GGUF model"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a"sv, "a Git LFS pointer"},
      {"\x93NUMPY\x01\x00v\x00"sv, "a NumPy array"},
      {"\x89HDF\r\n\x1a\n\x00\x00"sv, "an HDF5 file"},
      {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"sv, "a gzip archive"},
      {"{\"n_layer\": 6, \"n_head\": 6}"sv, "JSON text"},
      {"<?xml version=\"1.0\"?><a/>"sv, "XML"},
      {"First Citizen:\nBefore we proceed any further, hear me speak."sv, "plain text"},
      {"na\xc3\xafve \xe2\x80\x93 \xf0\x9f\x98\x80"sv, "plain text"},
      {"\xff\xfeh\x00i\x00!\x00\n\x00"sv, "UTF-16 text"},
  };
  for (const auto& c : cases) {
    const std::string message = refusal(bytes_of(c.content));
    CAPTURE(message);
    CHECK(contains(message, fmt::format("m.safetensors: not a safetensors file: it looks like {}", c.type)));
  }
  CHECK(contains(refusal({}), "not a safetensors file: it is empty"));
  CHECK(contains(refusal(make_file("[1]", 0)),
                 "not a safetensors file: header must begin with '{', begins with byte 0x5b"));
}

TEST_CASE("C-02: directories, devices and missing files are refused with the path and the reason") {
  const auto open_error = [](const char* path) -> std::string {
    try {
      SafetensorsFile::open(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(open_error("/") == "[safetensors] /: is a directory, not a file");
  CHECK(open_error("/dev/null") == "[safetensors] /dev/null: is not a regular file");
  CHECK(open_error("/none.safetensors") ==
        "[safetensors] /none.safetensors: can't open the file: No such file or directory");
}

TEST_CASE("C-08: empty and scalar tensors round-trip") {
  const std::int64_t large = std::int64_t{1} << 62;
  SafetensorsWriter writer;
  const float one[] = {1.5F};
  writer.add<float>("empty", {0}, {});
  writer.add<float>("empty_large", {0, large}, {});
  writer.add<float>("large_empty", {large, 0}, {});
  writer.add<float>("scalar", {}, one);
  writer.add<float>("one", {1}, one);

  const SafetensorsFile file = parse(writer.bytes());
  REQUIRE(file.entries().size() == 5);
  CHECK(file.find("empty")->element_count() == 0);
  CHECK(file.find("empty_large")->shape == std::vector<std::int64_t>{0, large});
  CHECK(file.find("large_empty")->element_count() == 0);
  CHECK(file.find("scalar")->element_count() == 1);
  CHECK(file.find("scalar")->shape.empty());
  CHECK(values<float>(file, "empty_large").empty());
  CHECK(values<float>(file, "scalar") == std::vector<float>{1.5F});
  CHECK(values<float>(file, "one") == std::vector<float>{1.5F});

  const SafetensorsFile nothing = parse(SafetensorsWriter().bytes());
  CHECK(nothing.entries().empty());
  CHECK(nothing.find("a") == nullptr);
}

TEST_CASE("C-13: types are converted where no value is lost, and named where they are not") {
  SafetensorsWriter writer;
  const double doubles[] = {0.1, -2.0, std::numeric_limits<double>::infinity()};
  const double huge[] = {0.0, 1e300};
  const double largest[] = {std::numeric_limits<float>::max()};
  const float floats[] = {0.1F};
  const bool flags[] = {true, false, true};
  writer.add<double>("f64", {3}, doubles);
  writer.add<double>("huge", {2}, huge);
  writer.add<double>("largest", {1}, largest);
  writer.add<float>("f32", {1}, floats);
  writer.add<bool>("flags", {3}, flags);
  // 2^31 - 1, -2^31 and 2^31 in 64 bits.
  const auto int64s =
      bytes_of(std::string_view("\xff\xff\xff\x7f\0\0\0\0\0\0\0\x80\xff\xff\xff\xff\0\0\0\x80\0\0\0\0", 24));
  const auto first = [&](std::ptrdiff_t n) { return Bytes(int64s.begin(), int64s.begin() + n); };
  writer.add("i64", "I64", {2}, first(16));
  writer.add("i64_large", "I64", {3}, first(24));
  writer.add("half", "F16", {1}, first(2));
  writer.add("bad_flag", "BOOL", {1}, first(1));
  const SafetensorsFile file = parse(writer.bytes());

  CHECK(values<float>(file, "f64") ==
        std::vector<float>{0.1F, -2.0F, std::numeric_limits<float>::infinity()});
  CHECK(values<double>(file, "f64")[0] == 0.1);
  CHECK(values<double>(file, "f32")[0] == static_cast<double>(0.1F));
  CHECK(values<double>(file, "huge")[1] == 1e300);
  CHECK(values<float>(file, "largest")[0] == std::numeric_limits<float>::max());
  CHECK(values<std::int32_t>(file, "i64") ==
        std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::max(),
                                  std::numeric_limits<std::int32_t>::min()});
  bool read_flags[3] = {};
  file.copy<bool>(*file.find("flags"), read_flags);
  CHECK(std::equal(flags, flags + 3, read_flags));

  CHECK_THROWS_WITH_AS(
      values<float>(file, "huge"),
      "[safetensors] m.safetensors: tensor 'huge': element 1 does not fit in float32: 1e+300", Error);
  CHECK_THROWS_WITH_AS(
      values<std::int32_t>(file, "i64_large"),
      "[safetensors] m.safetensors: tensor 'i64_large': element 2 does not fit in int32: 2147483648", Error);
  CHECK_THROWS_WITH_AS(values<float>(file, "half"),
                       "[safetensors] m.safetensors: tensor 'half' has dtype F16; floating-point numbers are "
                       "read from F32 or F64",
                       Error);
  CHECK_THROWS_AS(values<std::int32_t>(file, "f32"), Error);
  CHECK_THROWS_AS(values<float>(file, "i64"), Error);
  bool flag[1];
  CHECK_THROWS_AS(file.copy<bool>(*file.find("bad_flag"), flag), Error);
  CHECK_THROWS_AS(file.copy<bool>(*file.find("f32"), flag), Error);

  float too_small[2];
  CHECK_THROWS_WITH_AS(
      file.copy<float>(*file.find("f64"), too_small),
      "[safetensors] m.safetensors: tensor 'f64' has 3 elements, the place to copy them to has 2", Error);
  SafetensorsEntry changed = *file.find("f32");
  changed.shape = {2};
  CHECK_THROWS_AS(file.copy<float>(changed, too_small), Error);
  changed.end = 1 << 20;
  CHECK_THROWS_AS(file.bytes(changed), Error);
}

TEST_CASE("C-17: data at an odd address, little-endian by definition") {
  const std::string header = R"({"b":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]},)"
                             R"("f":{"dtype":"F32","shape":[2],"data_offsets":[1,9]},)"
                             R"("d":{"dtype":"F64","shape":[1],"data_offsets":[9,17]},)"
                             R"("i":{"dtype":"I32","shape":[1],"data_offsets":[17,21]}})";
  for (std::size_t padding = 0; padding < 8; ++padding) {
    Bytes bytes = make_file(header + std::string(padding, ' '), 0);
    const unsigned char data[] = {1,                                      // true
                                  0,    0, 0x80, 0x3f, 0, 0, 0,    0x80,  // 1.0f, -0.0f
                                  0,    0, 0,    0,    0, 0, 0xf8, 0x3f,  // 1.5
                                  0x04, 3, 2,    1};                      // 0x01020304
    for (const unsigned char byte : data) bytes.push_back(std::byte{byte});
    const SafetensorsFile file = parse(bytes);
    CHECK(values<float>(file, "f")[0] == 1.0F);
    CHECK(std::signbit(values<float>(file, "f")[1]));
    CHECK(values<double>(file, "d")[0] == 1.5);
    CHECK(values<std::int32_t>(file, "i")[0] == 0x01020304);
  }
}

TEST_CASE("C-17: the writer pads its header and aligns every tensor") {
  SafetensorsWriter writer;
  const bool flags[] = {true, true, false};
  const float weights[] = {1};
  const double moments[] = {2};
  writer.add<bool>("flags", {3}, flags);
  writer.add<float>("w", {1}, weights);
  writer.add<double>("m", {1}, moments);
  const Bytes bytes = writer.bytes();

  const auto length = std::to_integer<std::size_t>(bytes[0]);
  CHECK(length % 8 == 0);
  const SafetensorsFile file = parse(bytes);
  CHECK(file.entries()[0].name == "m");  // the largest elements first
  CHECK(file.entries()[1].name == "w");
  CHECK(file.entries()[2].name == "flags");
  CHECK(file.find("m")->begin % 8 == 0);
  CHECK(file.find("w")->begin % 4 == 0);

  const unsigned char expected[] = {8, 0, 0, 0, 0, 0, 0, 0, '{', '}', ' ', ' ', ' ', ' ', ' ', ' '};
  const Bytes empty = SafetensorsWriter().bytes();
  REQUIRE(empty.size() == sizeof expected);
  CHECK(std::memcmp(empty.data(), expected, sizeof expected) == 0);
}

TEST_CASE("the writer refuses what a reader would") {
  SafetensorsWriter writer;
  const Bytes four(4);
  writer.add("a", "F32", {1}, four);
  CHECK_THROWS_WITH_AS(writer.add("a", "F32", {1}, four), "[safetensors] tensor 'a' was added before", Error);
  CHECK_THROWS_AS(writer.add("__metadata__", "F32", {1}, four), Error);
  CHECK_THROWS_AS(writer.add("\xff", "F32", {1}, four), Error);
  CHECK_THROWS_AS(writer.add("b", "F33", {1}, four), Error);
  CHECK_THROWS_AS(writer.add("b", "F32", {-1}, four), Error);
  CHECK_THROWS_AS(writer.add("b", "F32", {1, 1, 1, 1, 1, 1, 1, 1, 1}, four), Error);
  CHECK_THROWS_WITH_AS(writer.add("b", "F32", {2}, four),
                       "[safetensors] tensor 'b': shape (2) of dtype F32 needs 8 bytes, got 4", Error);
  CHECK_THROWS_AS(writer.set_metadata("k", "\xff"), Error);
  CHECK_THROWS_AS(writer.set_metadata("\xff", "v"), Error);
  CHECK(parse(writer.bytes()).entries().size() == 1);
}

TEST_CASE("names and free text survive with every character") {
  SafetensorsWriter writer;
  const std::string odd = "a\"b\\c\n\t\x01 na\xc3\xafve \xf0\x9f\x98\x80 </script>";
  const float value[] = {3};
  writer.add<float>(odd, {1}, value);
  writer.add<float>("", {1}, value);
  writer.set_metadata(odd, odd);
  const SafetensorsFile file = parse(writer.bytes());
  CHECK(file.metadata().at(odd) == odd);
  CHECK(values<float>(file, odd) == std::vector<float>{3});
  CHECK(values<float>(file, "") == std::vector<float>{3});
}

TEST_CASE("any single damaged byte gives an error or a consistent file, never a crash") {
  const Bytes good = good_file();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned char flip : {0x01, 0x02, 0x10, 0x20, 0x80, 0xFF}) {
      Bytes damaged = good;
      damaged[i] ^= std::byte{flip};
      std::uint64_t covered = 0;
      try {
        const SafetensorsFile file = parse(damaged);
        for (const SafetensorsEntry& entry : file.entries()) covered += file.bytes(entry).size();
      } catch (const Error&) {
        continue;
      }
      CHECK(covered == 32);  // what is accepted still accounts for every byte of the data
    }
  }
}

TEST_CASE("a file on disk is written, opened, moved and copied") {
  const auto path = std::filesystem::temp_directory_path() / "minigpt_safetensors_test.safetensors";
  SafetensorsWriter writer;
  const float weights[] = {1, 2};
  writer.add<float>("w", {2}, weights);
  writer.write(path);
  SafetensorsFile first = SafetensorsFile::open(path);
  SafetensorsFile copy = first;
  const SafetensorsFile moved = std::move(first);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  CHECK_THROWS_AS(SafetensorsFile::open(path), Error);
  std::filesystem::remove(path);
  CHECK(values<float>(moved, "w") == std::vector<float>{1, 2});
  CHECK(values<float>(copy, "w") == std::vector<float>{1, 2});
}
