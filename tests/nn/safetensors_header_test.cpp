#include "nn/safetensors_header.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <limits>

#include "tests/nn/safetensors_support.h"

using namespace minigpt;
using namespace minigpt::test;

namespace {

// One tensor of a header: "name":{"dtype":...,"shape":...,"data_offsets":...}.
std::string tensor(std::string_view dtype, std::string_view shape, std::string_view offsets,
                   std::string_view name = "a") {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":{},"data_offsets":{}}})", name, dtype, shape, offsets);
}

// `header` with data_bytes bytes of data is refused with a message that contains `part`.
void check_refused(const std::string& header, std::size_t data_bytes, std::string_view part) {
  const std::string message = refusal(make_file(header, data_bytes));
  CAPTURE(header.substr(0, 300));
  CAPTURE(message);
  CHECK(message.starts_with("[safetensors] m.safetensors: "));
  CHECK(contains(message, part));
}

}  // namespace

TEST_CASE("C-03: an absurd header length is compared with the file size before anything is allocated") {
  const std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})";
  const std::size_t size = 8 + header.size() + 4;
  const auto with_length = [&](std::uint64_t length) { return refusal(make_file(header, 4, length)); };
  CHECK(with_length(header.size()).empty());

  CHECK(contains(with_length(0),
                 fmt::format("header length is 0, the shortest header is 2 (file size {})", size)));
  CHECK(contains(with_length(1),
                 fmt::format("header length is 1, the shortest header is 2 (file size {})", size)));
  // The whole rest of the file: the data is not JSON.
  CHECK(contains(with_length(size - 8), "header is not text: it holds a zero byte"));
  CHECK(contains(with_length(size - 7),
                 fmt::format("file is incomplete: {} bytes present, {} expected", size, size + 1)));
  CHECK(contains(with_length(100'000'000), fmt::format("{} bytes present, 100000008 expected", size)));
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 31, std::uint64_t{1} << 63,
        std::numeric_limits<std::uint64_t>::max() - 7, std::numeric_limits<std::uint64_t>::max()}) {
    CHECK(contains(
        with_length(length),
        fmt::format("header length is {}, more than the limit 100000000 (file size {})", length, size)));
  }
  CHECK(contains(with_length(header.size() - 1), "header is not valid JSON"));
}

TEST_CASE("C-04: offsets, shapes and types that contradict each other") {
  const struct {
    const char *dtype, *shape, *offsets;
    const char* message;
  } cases[] = {
      {"U8", "[4]", "[4,0]", "tensor 'a': data_offsets are reversed: begin 4 > end 0"},
      {"U8", "[4]", "[-4,0]",
       "data_offsets of tensor 'a' must be a non-negative integer below 2^63, found the negative number -4"},
      {"U8", "[4]", "[0,4.0]",
       "data_offsets of tensor 'a' must be a non-negative integer below 2^63, found '4.0'"},
      {"U8", "[4]", "[0,4e0]", "found '4e0'"},
      {"U8", "[4]", "[\"0\",\"4\"]", "found the string '0'"},
      {"U8", "[4]", "[0,4,4]", "data_offsets of tensor 'a' must be two numbers, found more"},
      {"U8", "[4]", "[4]", "data_offsets of tensor 'a' must be two numbers, found 1"},
      {"U8", "[4]", "[]", "must be two numbers, found 0"},
      {"U8", "[4]", "[0,null]", "found null"},
      {"U8", "[4]", "[0,true]", "found a boolean"},
      {"U8", "[4]", "{\"0\":4}", "data_offsets of tensor 'a' must be a list of integers, found an object"},
      {"U8", "[4]", "4", "data_offsets of tensor 'a' must be a list of integers, found 4"},
      {"U8", "[8]", "[0,8]", "(tensor 'a' ends there)"},
      {"U8", "[0]", "[9223372036854775807,9223372036854775807]", "belong to no tensor (data_offsets)"},
      {"U8", "[4]", "[0,9223372036854775808]", "found 9223372036854775808"},
      {"U8", "[4]", "[0,18446744073709551616]", "found '18446744073709551616'"},
      {"F32", "[1]", "[0,3]",
       "tensor 'a': shape (1) of dtype F32 needs 4 bytes, but data_offsets [0, 3] hold 3"},
      {"F32", "[1]", "[0,5]", "needs 4 bytes, but data_offsets [0, 5] hold 5"},
      {"F64", "[1]", "[0,4]", "shape (1) of dtype F64 needs 8 bytes"},
      {"F32", "[]", "[0,0]", "shape () of dtype F32 needs 4 bytes"},
      {"F4", "[3]", "[0,1]", "3 elements of dtype F4 do not fill whole bytes: 12 bits"},
      {"f32", "[1]", "[0,4]", "dtype of tensor 'a' is unknown: 'f32'"},
      {"float32", "[1]", "[0,4]", "dtype of tensor 'a' is unknown: 'float32'"},
      {"", "[1]", "[0,4]", "dtype of tensor 'a' is unknown: ''"},
      {"F32", "[-1]", "[0,4]",
       "shape of tensor 'a' must be a non-negative integer below 2^63, found the negative number -1"},
      {"F32", "[-0]", "[0,0]", "found the negative number 0"},
      {"F32", "[1.5]", "[0,4]", "shape of tensor 'a' must be a non-negative integer below 2^63, found '1.5'"},
      {"F32", "\"1\"", "[0,4]", "shape of tensor 'a' must be a list of integers, found the string '1'"},
      {"F32", "[[1]]", "[0,4]", "found a list"},
  };
  for (const auto& c : cases) check_refused("{" + tensor(c.dtype, c.shape, c.offsets) + "}", 4, c.message);
  CHECK(refusal(make_file("{" + tensor("F32", "[1]", "[0,4]") + "}", 4)).empty());
}

TEST_CASE("C-04: fields that are missing, unknown or of another kind") {
  const struct {
    const char* header;
    const char* message;
  } cases[] = {
      {R"({"a":{"dtype":32,"shape":[1],"data_offsets":[0,4]}})",
       "dtype of tensor 'a' must be a string, found 32"},
      {R"({"a":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}})",
       "dtype of tensor 'a' must be a string, found a list"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "tensor 'a' has no dtype"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "tensor 'a' has no shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "tensor 'a' has no data_offsets"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],"stride":[1]}})",
       "tensor 'a' has an unknown field 'stride'"},
      {R"({"a":{}})", "tensor 'a' has no dtype"},
      {R"({"a":[0,4]})", "tensor 'a' must be an object, found a list"},
      {R"({"a":null})", "tensor 'a' must be an object, found null"},
      {R"({"__metadata__":{"step":100}})", "__metadata__ 'step' must be a string, found 100"},
      {R"({"__metadata__":{"step":{}}})", "__metadata__ 'step' must be a string, found an object"},
      {R"({"__metadata__":"pt"})", "__metadata__ must be an object, found the string 'pt'"},
  };
  for (const auto& c : cases) check_refused(c.header, 4, c.message);
}

TEST_CASE("C-05: overlaps, holes and trailing bytes are refused, another order is not") {
  const std::string a = tensor("U8", "[4]", "[0,4]");
  const auto with_b = [&](const char* shape, const char* offsets) {
    return "{" + a + "," + tensor("U8", shape, offsets, "b") + "}";
  };
  check_refused(with_b("[4]", "[0,4]"), 4, "data_offsets of tensor 'b' overlap tensor 'a': begin 0 < end 4");
  check_refused(with_b("[4]", "[3,7]"), 7, "data_offsets of tensor 'b' overlap tensor 'a': begin 3 < end 4");
  check_refused(with_b("[0]", "[2,2]"), 4, "data_offsets of tensor 'b' overlap tensor 'a': begin 2 < end 4");
  check_refused(with_b("[4]", "[5,9]"), 9, "bytes 4 to 5 before tensor 'b' belong to no tensor");
  check_refused("{" + tensor("U8", "[4]", "[1,5]") + "}", 5,
                "bytes 0 to 1 before tensor 'a' belong to no tensor");
  check_refused("{" + a + "}", 5, "1 bytes after the last tensor belong to no tensor");
  check_refused("{}", 3, "3 bytes after the last tensor belong to no tensor");

  const std::string b_first = "{" + tensor("U8", "[3]", "[4,7]", "b") + "," + a + "}";
  const SafetensorsFile file = parse(make_file(b_first, 7));
  REQUIRE(file.entries().size() == 2);
  CHECK(file.entries()[0].name == "a");  // entries are in the order of their data
  CHECK(file.entries()[1].name == "b");
  CHECK(file.bytes(*file.find("b")).size() == 3);

  // An empty tensor may be named after the one that begins at the same byte.
  CHECK(refusal(make_file("{" + a + "," + tensor("U8", "[0]", "[0,0]", "b") + "}", 4)).empty());
}

TEST_CASE("names in messages are cut between characters") {
  const std::string name = std::string(79, 'x') + "\xE4\xB8\xAD" + "tail";
  CHECK(detail::quote_name(name) == "'" + std::string(79, 'x') + "...'");
  CHECK(detail::quote_name(std::string(80, 'x')) == "'" + std::string(80, 'x') + "'");
}

TEST_CASE("names and fields that occur twice are refused, also when they are spelled differently") {
  const std::string a = tensor("U8", "[4]", "[0,4]");
  check_refused("{" + a + "," + tensor("U8", "[4]", "[4,8]") + "}", 8,
                "the name 'a' occurs twice in the header");
  check_refused("{" + a + "," + tensor("U8", "[4]", "[4,8]", "\\u0061") + "}", 8,
                "the name 'a' occurs twice");
  check_refused(R"({"a":{"dtype":"U8","dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 4,
                "gives its dtype twice");
  check_refused(R"({"a":{"dtype":"U8","shape":[4],"shape":[2,2],"data_offsets":[0,4]}})", 4,
                "gives its shape twice");
  check_refused(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4],"data_offsets":[0,4]}})", 4,
                "tensor 'a' gives its data_offsets twice");
  check_refused(R"({"__metadata__":{"k":"1","k":"2"}})", 0, "__metadata__ names 'k' twice");
  check_refused(R"({"__metadata__":{},"__metadata__":{}})", 0, "the name '__metadata__' occurs twice");
}

TEST_CASE("JSON that is damaged or nested without end") {
  check_refused("{\"a\":" + std::string(1'000'000, '['), 0, "tensor 'a' must be an object, found a list");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  check_refused(objects, 0, "tensor 'a' has an unknown field 'a'");

  for (const char* header : {"{ ", "{}x", "{}{}", "{,}", "{/**/}", "{\"a\xff\":1}", "{\"\\ud800\":1}",
                             "{\"a\nb\":1}", "{\"a\":1e999}", "{\"a\":NaN}", "{\"a", "{'a':1}"})
    check_refused(header, 0, "header is not valid JSON, near its byte");
  for (const char* header : {"\xef\xbb\xbf{}", " {}", "[{}]"})
    check_refused(header, 0, "header must begin with '{'");
  check_refused(std::string("{}\0 ", 4), 0, "header is not text: it holds a zero byte");
  CHECK(refusal(make_file("{ }  \n\t", 0)).empty());

  // A message shows the name it is about, but neither control characters nor a megabyte.
  const std::string message = refusal(make_file("{\"\\u001b[2J" + std::string(1'000'000, 'x') + "\":1}", 0));
  CHECK(contains(message, "tensor '\\x1b[2Jxxx"));
  CHECK(message.size() < 250);
}

TEST_CASE("C-07: a shape whose product overflows") {
  const auto refused = [](const char* dtype, const std::string& shape, const char* message) {
    check_refused("{" + tensor(dtype, shape, "[0,0]") + "}", 0, message);
  };
  refused("U8", "[8589934592,2147483648]",
          "shape (8589934592, 2147483648) is too large: the product does not fit in 63 bits");
  refused("U8", "[4611686018427387904,4]", "is too large: the product does not fit in 63 bits");
  refused("U8", "[4,0,4611686018427387904]", "is too large: the product does not fit in 63 bits");
  refused("F64", "[4611686018427387904]", "of dtype F64 is too large: its size does not fit in 63 bits");
  refused("U8", "[9223372036854775808]", "found 9223372036854775808");
  refused("U8", "[1,1,1,1,1,1,1,1,1]",
          "shape of tensor 'a' has more than 8 dimensions, the most a tensor can have here");
  std::string many = "[2";
  for (int i = 1; i < 64; ++i) many += ",2";
  refused("U8", many + "]", "more than 8 dimensions");
  CHECK(refusal(make_file("{" + tensor("U8", "[1,1,1,1,1,1,1,1]", "[0,1]") + "}", 1)).empty());
}

TEST_CASE("every dtype of the format can be listed; only some can be converted") {
  std::string header;
  std::size_t end = 0;
  for (const auto& [dtype, bytes] :
       std::initializer_list<std::pair<const char*, std::size_t>>{{"BOOL", 8},
                                                                  {"U8", 8},
                                                                  {"I8", 8},
                                                                  {"F8_E4M3", 8},
                                                                  {"F8_E5M2", 8},
                                                                  {"F8_E8M0", 8},
                                                                  {"I16", 16},
                                                                  {"U16", 16},
                                                                  {"F16", 16},
                                                                  {"BF16", 16},
                                                                  {"I32", 32},
                                                                  {"U32", 32},
                                                                  {"F32", 32},
                                                                  {"I64", 64},
                                                                  {"U64", 64},
                                                                  {"F64", 64},
                                                                  {"C64", 64},
                                                                  {"F4", 4},
                                                                  {"F6_E2M3", 6}}) {
    header +=
        (header.empty() ? "{" : ",") + tensor(dtype, "[8]", fmt::format("[{},{}]", end, end + bytes), dtype);
    end += bytes;
  }
  const SafetensorsFile file = parse(make_file(header + "}", end));
  CHECK(file.entries().size() == 19);
  CHECK(file.find("F4")->element_count() == 8);
  CHECK_THROWS_AS(values<float>(file, "BF16"), Error);
  CHECK(values<float>(file, "F32") == std::vector<float>(8));
}
