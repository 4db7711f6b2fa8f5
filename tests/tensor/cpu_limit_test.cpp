#include "tensor/cpu_limit.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

using minigpt::detail::cpus_in_affinity_mask;
using minigpt::detail::cpus_in_cgroup_quota;

namespace {

// A directory that looks like /sys/fs/cgroup.
class FakeMount {
 public:
  FakeMount()
      : root_(std::filesystem::temp_directory_path() / ("minigpt_cgroup_" + std::to_string(getpid()))) {}
  ~FakeMount() { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  std::string path() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("the CPU quota of a version 2 control group is rounded up to whole CPUs") {
  const FakeMount mount;
  SUBCASE("1.5 CPUs become 2") {
    mount.write("box/cpu.max", "150000 100000\n");
    CHECK(cpus_in_cgroup_quota("0::/box\n", mount.path()) == 2);
  }
  SUBCASE("half a CPU becomes 1") {
    mount.write("box/cpu.max", "50000 100000\n");
    CHECK(cpus_in_cgroup_quota("0::/box\n", mount.path()) == 1);
  }
  SUBCASE("a quota beyond every integer") {
    mount.write("box/cpu.max", "99999999999999999999 1\n");
    CHECK(cpus_in_cgroup_quota("0::/box\n", mount.path()) == 1000000);
  }
  SUBCASE("no limit") {
    mount.write("box/cpu.max", "max 100000\n");
    CHECK(cpus_in_cgroup_quota("0::/box\n", mount.path()) == 0);
  }
  SUBCASE("the smallest quota on the way up counts") {
    mount.write("a/cpu.max", "300000 100000\n");
    mount.write("a/b/cpu.max", "800000 100000\n");
    CHECK(cpus_in_cgroup_quota("0::/a/b\n", mount.path()) == 3);
  }
  SUBCASE("in a container the path may exist outside only; its own group is the root") {
    mount.write("cpu.max", "400000 100000\n");
    CHECK(cpus_in_cgroup_quota("0::/not/here\n", mount.path()) == 4);
    CHECK(cpus_in_cgroup_quota("0::/\n", mount.path()) == 4);
  }
}

TEST_CASE("the CPU quota of a version 1 control group is read from its two files") {
  const FakeMount mount;
  mount.write("cpu/job/cpu.cfs_period_us", "100000\n");
  mount.write("cpu/job/cpu.cfs_quota_us", "250000\n");
  const std::string others = "7:cpuset:/elsewhere\n5:memory:/job\n";
  CHECK(cpus_in_cgroup_quota(others + "4:cpu,cpuacct:/job\n", mount.path()) == 3);
  CHECK(cpus_in_cgroup_quota(others, mount.path()) == 0);
  mount.write("cpu/job/cpu.cfs_quota_us", "-1\n");
  CHECK(cpus_in_cgroup_quota("4:cpu,cpuacct:/job\n", mount.path()) == 0);
}

TEST_CASE("without control groups there is no quota, and there is always a CPU") {
  CHECK(cpus_in_cgroup_quota("", "/nowhere") == 0);
  CHECK(cpus_in_cgroup_quota("nonsense\n", "/nowhere") == 0);
  CHECK(cpus_in_affinity_mask() >= 1);
}
