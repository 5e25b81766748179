#include "job/control_group.h"

#include <fstream>
#include <thread>

#include "checkpoint/temporary_folder.h"
#include "job/threads.h"

using namespace roll;

namespace {

/// A folder as the kernel would fill it: "proc/self/cgroup" and what lies below "sys/fs/cgroup".
ControlGroup group_of(const std::vector<std::pair<std::string, std::string>>& files) {
  const test::TemporaryFolder root;
  for (const auto& [name, content] : files) {
    const std::filesystem::path file = root.path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << content << "\n";
  }
  return control_group(root.path());
}

}  // namespace

TEST_CASE("a quota of version 2 is a number of cores, and max is none") {
  const std::string local = "proc/self/cgroup", top = "sys/fs/cgroup/";
  CHECK(group_of({{local, "0::/"}, {top + "cpu.max", "200000 100000"}}).cores == 2.0);
  CHECK(group_of({{local, "0::/"}, {top + "cpu.max", "150000 100000"}}).cores == 1.5);
  CHECK_FALSE(group_of({{local, "0::/"}, {top + "cpu.max", "max 100000"}}).cores);
  CHECK_FALSE(group_of({{local, "0::/"}, {top + "cpu.max", ""}}).cores);
  CHECK_FALSE(group_of({{local, "0::/"}, {top + "cpu.max", "200000 0"}}).cores);
  CHECK_FALSE(group_of({{local, "0::/"}}).cores);
  CHECK_FALSE(group_of({{top + "cpu.max", "200000 100000"}}).cores);  // of nobody knows which group
}

TEST_CASE("the least of a group and those above it counts, wherever it stands") {
  const std::string local = "proc/self/cgroup", top = "sys/fs/cgroup/";
  const std::string above = top + "user.slice/cpu.max", own = top + "user.slice/job/cpu.max";
  CHECK(group_of({{local, "0::/user.slice/job"}, {above, "300000 100000"}, {own, "800000 100000"}}).cores == 3.0);
  CHECK(group_of({{local, "0::/user.slice/job"}, {above, "900000 100000"}, {own, "800000 100000"}}).cores == 8.0);
  CHECK(group_of({{local, "0::/user.slice/job"}, {above, "max 100000"}, {own, "800000 100000"}}).cores == 8.0);
  CHECK_FALSE(group_of({{local, "0::/user.slice"}, {own, "800000 100000"}}).cores);  // below it
}

TEST_CASE("version 1 has a folder for each controller; a container's own is the top, whatever its path is outside") {
  const std::string local = "proc/self/cgroup", top = "sys/fs/cgroup/cpu/";
  const std::string groups = "5:cpu,cpuacct:/docker/ab\n4:memory:/docker/ab\n3:cpuset:/\n1:name=systemd:/";
  CHECK(
      group_of({{local, groups}, {top + "cpu.cfs_quota_us", "200000"}, {top + "cpu.cfs_period_us", "100000"}}).cores ==
      2.0);
  CHECK(group_of({{local, groups},
                  {top + "docker/ab/cpu.cfs_quota_us", "50000"},
                  {top + "docker/ab/cpu.cfs_period_us", "100000"}})
            .cores == 0.5);
  const std::string apart = "5:cpu,cpuacct:/a\n4:memory:/b";  // where its memory is counted says nothing of its time
  CHECK_FALSE(
      group_of({{local, apart}, {top + "b/cpu.cfs_quota_us", "50000"}, {top + "b/cpu.cfs_period_us", "100000"}}).cores);
  CHECK_FALSE(
      group_of({{local, "cpu"}, {top + "cpu.cfs_quota_us", "50000"}, {top + "cpu.cfs_period_us", "100000"}}).cores);
  CHECK_FALSE(
      group_of({{local, groups}, {top + "cpu.cfs_quota_us", "-1"}, {top + "cpu.cfs_period_us", "100000"}}).cores);
}

TEST_CASE("memory is limited by the least of the groups too, and a number beyond all memory is no limit") {
  const std::string local = "proc/self/cgroup", top = "sys/fs/cgroup/";
  CHECK(group_of({{local, "0::/a"}, {top + "a/memory.max", "1073741824"}}).memory_bytes == 1 << 30);
  CHECK_FALSE(group_of({{local, "0::/a"}, {top + "a/memory.max", "max"}}).memory_bytes);
  const std::string one = top + "memory/memory.limit_in_bytes";
  CHECK(group_of({{local, "4:memory:/"}, {one, "1073741824"}}).memory_bytes == 1 << 30);
  CHECK_FALSE(group_of({{local, "4:memory:/"}, {one, "9223372036854771712"}}).memory_bytes);
}

TEST_CASE("at least one core is usable, and no more than this process may run on") {
  CHECK(num_usable_cores() >= 1);
  CHECK(num_usable_cores() <= num_allowed_cores());
  CHECK(num_allowed_cores() <= static_cast<int>(std::thread::hardware_concurrency()));
}
