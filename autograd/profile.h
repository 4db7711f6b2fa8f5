#pragma once
// Where the time of a training step goes: a stopwatch that record() and the backward pass press after each operation.
//
//   Profile profile;                       // on, for this thread, until it goes
//   ... forward, backward, optimiser ...
//   for (const ProfileRow& row : profile.rows()) print(row.name, row.forward, row.backward);
//
// The time since the last press counts for the operation that has just ended: its kernel, and the small change around
// it. Whatever is no operation is told apart by profile_mark("optimizer"). Switched off, a press is one branch.

#include <cstdint>
#include <string>
#include <vector>

namespace minigpt {

struct ProfileRow {
  std::string name;    // of the operation ("linear"), or of a mark
  std::int64_t calls;  // forward
  double forward;      // seconds; of a mark, all of its time
  double backward;     // seconds, with the sums of gradients that the operation sent on
};

class Profile {
 public:
  // Starts the watch. Only one can be alive in a thread; throws Error for a second one.
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  // The time so far by name, most first.
  std::vector<ProfileRow> rows() const;
  // Begins anew.
  void clear();

 private:
  std::vector<ProfileRow> rows_;
  double last_ = 0;
  bool in_backward_ = false;

  ProfileRow& row(const char* name);
  double lap();
  friend void profile_slow(const char* name, bool backward);
  friend class ProfileBackward;
};

namespace detail {
inline constinit thread_local Profile* active_profile = nullptr;
}
void profile_slow(const char* name, bool backward);

// Counts the time since the last press as forward time of `name`; within a backward pass it does nothing.
inline void profile_mark(const char* name) {
  if (detail::active_profile) [[unlikely]]
    profile_slow(name, false);
}
// The same for the backward time.
inline void profile_backward(const char* name) {
  if (detail::active_profile) [[unlikely]]
    profile_slow(name, true);
}

// Alive during a backward pass, whose own operations are not counted one by one.
class ProfileBackward {
 public:
  ProfileBackward() : before_(swap(true)) {}
  ~ProfileBackward() { swap(before_); }
  ProfileBackward(const ProfileBackward&) = delete;
  ProfileBackward& operator=(const ProfileBackward&) = delete;

 private:
  static bool swap(bool on) {
    if (!detail::active_profile) return false;
    const bool before = detail::active_profile->in_backward_;
    detail::active_profile->in_backward_ = on;
    return before;
  }
  bool before_;
};

}  // namespace minigpt
