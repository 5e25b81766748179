// Reads the CPU and memory limits of this process's Linux control group, which a container may set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace roll {

struct ControlGroup {
  std::optional<double> cores;          // CPU quota as a number of cores, e.g. 2.5; nullopt without a quota
  std::optional<int64_t> memory_bytes;  // memory limit; nullopt without one
};

/// Returns the lowest limits of this process's group and the groups above it, of cgroups v1 and v2. The files are read
/// from `root`/proc and `root`/sys; tests pass another root.
ControlGroup control_group(const std::filesystem::path& root = "/");

}  // namespace roll
