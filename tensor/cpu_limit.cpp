#include "tensor/cpu_limit.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <thread>

#ifdef __linux__
#include <sched.h>
#endif

namespace minigpt::detail {

namespace {

// Version 2 writes "max 100000" or "150000 100000" (microseconds of CPU time per period). 0 if there is no
// limit.
double quota_v2(const std::string& group) {
  std::ifstream file(group + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && period > 0 ? quota / period : 0;
}

// Version 1 keeps the two numbers in two files; a quota of -1 means no limit.
double quota_v1(const std::string& group) {
  std::ifstream quota_file(group + "/cpu.cfs_quota_us"), period_file(group + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  return quota_file >> quota && period_file >> period && quota > 0 && period > 0 ? quota / period : 0;
}

bool lists_cpu_controller(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return true;
  return false;
}

// The smallest quota of `path` and its parents below `root`. Inside a container the path can be one that only
// exists outside; the loop then finds nothing until it reaches the root, which is the container's own group.
template <class Quota>
double smallest_quota(const std::string& root, std::string path, Quota quota) {
  double smallest = 0;
  while (true) {
    const double q = quota(root + path);
    if (q > 0) smallest = smallest > 0 ? std::min(smallest, q) : q;
    if (path.empty() || path == "/") return smallest;
    path.resize(path.find_last_of('/') == std::string::npos ? 0 : path.find_last_of('/'));
  }
}

}  // namespace

int cpus_in_affinity_mask() {
#ifdef __linux__
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
#endif
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

int cpus_in_cgroup_quota(const std::string& membership, const std::string& mount) {
  double smallest = 0;
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);

    double q = 0;
    if (controllers.empty())
      q = smallest_quota(mount, path, quota_v2);
    else if (lists_cpu_controller(controllers))
      q = smallest_quota(mount + "/cpu", path, quota_v1);
    if (q > 0) smallest = smallest > 0 ? std::min(smallest, q) : q;
  }
  return static_cast<int>(std::ceil(std::min(1e6, smallest)));  // more is no limit, and may not fit an int
}

}  // namespace minigpt::detail
