#include "job/control_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr int64_t kNoLimit = int64_t{1} << 60;  // cgroups v1 writes "no limit" as a number near 2^63

template <class T>
void lower_limit(std::optional<T>& lowest, T limit) {
  lowest = std::min(lowest.value_or(limit), limit);
}

/// Reads a folder's limits. No limit: "max", which is not a number, or a missing file.
void read_limits(const fs::path& folder, ControlGroup& found) {
  double quota = 0, period = 0;
  if (std::ifstream file(folder / "cpu.max"); file >> quota >> period && quota > 0 && period > 0)
    lower_limit(found.cores, quota / period);
  std::ifstream quota_file(folder / "cpu.cfs_quota_us"), period_file(folder / "cpu.cfs_period_us");
  if (quota_file >> quota && period_file >> period && quota > 0 && period > 0)  // -1: no limit
    lower_limit(found.cores, quota / period);
  for (const char* name : {"memory.max", "memory.limit_in_bytes"}) {
    int64_t bytes = 0;
    if (std::ifstream file(folder / name); file >> bytes && bytes > 0 && bytes < kNoLimit)
      lower_limit(found.memory_bytes, bytes);
  }
}

/// Reads the group's folder and those above it. A container may see its own group as the top, under a path that only
/// the host has, so missing folders are skipped.
void read_upwards(const fs::path& top, const fs::path& group, ControlGroup& found) {
  read_limits(top, found);
  fs::path folder = top;
  for (const fs::path& part : group.relative_path()) read_limits(folder /= part, found);
}

}  // namespace

ControlGroup control_group(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  ControlGroup found;
  std::ifstream groups(root / "proc/self/cgroup");
  // Lines are "0::/path" in v2, and "4:cpu,cpuacct:/path" in v1, whose folder has a link for each controller.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = fmt::format(",{},", line.substr(first + 1, second - first - 1));
    const std::string group = line.substr(second + 1);
    if (controllers == ",,") read_upwards(mounts, group, found);
    for (const std::string controller : {"cpu", "memory"})
      if (controllers.find(fmt::format(",{},", controller)) != controllers.npos)
        read_upwards(mounts / controller, group, found);
  }
  return found;
}

}  // namespace roll
