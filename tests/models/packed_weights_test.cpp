#include "models/packed_weights.h"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tensor/error.h"

namespace minigpt::test {
namespace {

TEST_CASE("V-03: base64: the examples of RFC 4648, section 10") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  CHECK(base64("\xFF\xFE") == "//4=");
}

TEST_CASE("packed weights: rows up to the diagonal, low byte first") {
  // 1, then 0.5 and 0.5: 65535 and twice 32768 (65535 / 2 rounded up).
  CHECK(pack_causal(std::vector<double>{1, 0, 0.5, 0.5}) ==
        base64(std::string("\xFF\xFF\x00\x80\x00\x80", 6)));
  CHECK(pack_causal(std::vector<double>{std::nan("")}) == "AAA=");
  CHECK(pack_causal(std::vector<double>{1.00001}) == "//8=");  // rounding may go beyond 1
}

TEST_CASE("packed weights: they come back as exactly as two bytes allow") {
  const std::vector<double> weights = {1, 0, 0, 0.25, 0.75, 0, 0.1, 0.2, 0.7};
  const std::vector<double> back = unpack_causal(pack_causal(weights));
  REQUIRE(back.size() == weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) CHECK(std::fabs(back[i] - weights[i]) <= 1 / 131070.0);
  CHECK(unpack_causal("").empty());
  for (const char* wrong : {"AAA", "A===", "AAAAAA==", "!AAA", "AA=A"})
    CHECK_THROWS_AS(unpack_causal(wrong), Error);
  for (const char* text : {"", "f", "fo", "foo", "foobar"}) CHECK(from_base64(base64(text)) == text);
}

TEST_CASE("packed weights: what is no square is refused") {
  CHECK_THROWS_WITH_AS(pack_causal(std::vector<double>(3)), "[pack_causal] 3 weights are no square", Error);
}

}  // namespace
}  // namespace minigpt::test
