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
}

TEST_CASE("packed weights: what is no square is refused") {
  CHECK_THROWS_WITH_AS(pack_causal(std::vector<double>(3)), "[pack_causal] 3 weights are no square", Error);
}

}  // namespace
}  // namespace minigpt::test
