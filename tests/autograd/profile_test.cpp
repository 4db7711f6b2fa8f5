#include "autograd/profile.h"

#include <doctest/doctest.h>

#include <map>

#include "autograd/ops.h"
#include "tensor/error.h"

namespace minigpt::test {
namespace {

std::map<std::string, ProfileRow> by_name(const Profile& profile) {
  std::map<std::string, ProfileRow> rows;
  for (const ProfileRow& row : profile.rows()) rows.emplace(row.name, row);
  return rows;
}

Variable ones() { return Variable(Tensor::from<float>({1, 1, 1, 1}, {4}), true); }

TEST_CASE("profile: every operation is counted once, and its backward pass under its own name") {
  const Variable x = ones();
  Profile profile;
  sum(exp(x) * x + x).backward();
  const auto rows = by_name(profile);
  CHECK(rows.size() == 4);
  for (const char* op : {"exp", "mul", "add", "sum"}) {
    CAPTURE(op);
    REQUIRE(rows.count(op) == 1);
    CHECK(rows.at(op).calls == 1);  // the products inside the backward pass of mul are its own
    CHECK(rows.at(op).forward > 0);
    CHECK(rows.at(op).backward > 0);
  }
}

TEST_CASE("profile: marks tell apart what is no operation; without recording only forward time passes") {
  const Variable x = ones();
  Profile profile;
  profile_mark("preparation");
  {
    const NoGrad no_grad;
    exp(x);
    exp(x);
  }
  auto rows = by_name(profile);
  CHECK(rows.at("preparation").calls == 1);
  CHECK(rows.at("exp").calls == 2);
  CHECK(rows.at("exp").backward == 0);
  profile.clear();
  CHECK(profile.rows().empty());
}

TEST_CASE("profile: rows come sorted by their time") {
  Profile profile;
  for (int i = 0; i < 3; ++i) {
    exp(ones());
    profile_mark("rest");
  }
  const std::vector<ProfileRow> rows = profile.rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].forward + rows[0].backward >= rows[1].forward + rows[1].backward);
}

TEST_CASE("profile: off by default, and again afterwards; there is one at a time") {
  profile_mark("nobody listens");
  {
    Profile profile;
    CHECK(profile.rows().empty());
    CHECK_THROWS_WITH_AS(Profile(), "[profile] another profile is alive in this thread", Error);
    profile_mark("still on");
    CHECK(profile.rows().size() == 1);
  }
  const Profile fresh;
  CHECK(fresh.rows().empty());
}

}  // namespace
}  // namespace minigpt::test
