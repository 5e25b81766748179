// What the kernel's control groups leave to this process: a container on a large machine often has a part of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace roll {

struct ControlGroup {
  std::optional<double> cores;          // that its quota of processor time pays for
  std::optional<int64_t> memory_bytes;  // that it may use
};

/// The least that its own group and those above it allow, of version 1 and 2; nothing where there is no limit. `root`
/// is where proc/ and sys/ are.
ControlGroup control_group(const std::filesystem::path& root = "/");

}  // namespace roll
