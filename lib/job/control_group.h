// Reads the CPU and memory limits of this process's Linux control group, which a container may set.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace roll {

struct ControlGroup {
  std::optional<double> cores;          // cores that the CPU quota pays for
  std::optional<int64_t> memory_bytes;  // memory limit
};

/// Returns the lowest limits of its group and the groups above it, of cgroups v1 and v2; unset if there is no limit.
/// `root` holds proc/ and sys/.
ControlGroup control_group(const std::filesystem::path& root = "/");

}  // namespace roll
