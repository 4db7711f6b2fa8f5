#pragma once
// How many CPUs this process may really use.

#include <string>

namespace minigpt::detail {

// CPUs in the process's affinity mask (what `taskset` sets), at least 1.
int cpus_in_affinity_mask();

// The CPU quota of a control group in whole CPUs, rounded up; 0 if there is none. In a container that may
// use 1.5 CPUs of a 64-core machine this is 2, while the affinity mask still says 64.
//   membership   the text of /proc/self/cgroup: "0::/a/b" (version 2) or "4:cpu,cpuacct:/a/b" (version 1)
//   mount        where the control groups are mounted, "/sys/fs/cgroup"
// A group cannot use more than its parents, so the smallest quota on the way up counts.
int cpus_in_cgroup_quota(const std::string& membership, const std::string& mount);

}  // namespace minigpt::detail
