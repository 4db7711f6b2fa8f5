#include "autograd/profile.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tensor/error.h"

namespace minigpt {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Profile::Profile() {
  check(!detail::active_profile, "profile", "another profile is alive in this thread");
  detail::active_profile = this;
  clear();
}

Profile::~Profile() { detail::active_profile = nullptr; }

void Profile::clear() {
  rows_.clear();
  last_ = now();
}

std::vector<ProfileRow> Profile::rows() const {
  std::vector<ProfileRow> sorted = rows_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.forward + a.backward > b.forward + b.backward;
  });
  return sorted;
}

// Some twenty names: a search through them costs less than what it tells apart.
ProfileRow& Profile::row(const char* name) {
  for (ProfileRow& r : rows_)
    if (r.name == name) return r;
  return rows_.emplace_back(ProfileRow{name, 0, 0, 0});
}

double Profile::lap() {
  const double time = now();
  return time - std::exchange(last_, time);
}

void profile_slow(const char* name, bool backward) {
  Profile& profile = *detail::active_profile;
  if (profile.in_backward_ != backward) return;
  ProfileRow& row = profile.row(name);
  if (backward) {
    row.backward += profile.lap();
  } else {
    row.forward += profile.lap();
    ++row.calls;
  }
}

}  // namespace minigpt
