#include "nn/safetensors_seal.h"

#include <doctest/doctest.h>

#include "tests/nn/safetensors_support.h"

using namespace minigpt;
using namespace minigpt::test;

TEST_CASE("seal: the place of a checksum is 16 digits between quotes, and nothing else") {
  const std::string key = R"({"__metadata__":{"minigpt.checksum":")";
  const std::string digits(16, '7');
  CHECK(detail::find_checksum(key + digits + R"("}})") == key.size());
  CHECK(detail::find_checksum(key + digits + R"(7"}})") == std::string::npos);
  CHECK(detail::find_checksum(key + digits.substr(1) + R"("}})") == std::string::npos);
  CHECK(detail::find_checksum(key + digits) == std::string::npos);  // the end comes before the quote
  CHECK(detail::find_checksum("{}") == std::string::npos);
}

TEST_CASE("seal: a checksum does not depend on the digits that it replaces, and leaves them as they are") {
  const auto header = [](char digit) {
    return R"({"__metadata__":{"minigpt.checksum":")" + std::string(16, digit) + R"("}})";
  };
  Bytes sevens = bytes_of(header('7')), zeros = bytes_of(header('0')), other = bytes_of(header('7') + " ");
  const Bytes data = bytes_of("data"), changed = bytes_of("dat4");
  const std::string sum = detail::sealed_checksum(sevens, {data});
  CHECK(sevens == bytes_of(header('7')));
  CHECK(detail::sealed_checksum(zeros, {data}) == sum);
  CHECK(detail::sealed_checksum(zeros, {changed}) != sum);
  CHECK(detail::sealed_checksum(other, {data}) != sum);
}
