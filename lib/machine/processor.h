// Reads the processor's model and the features that this program's speed depends on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Processor {
  std::string model;                  // "AMD EPYC 7B13"; "unknown" if the kernel does not tell
  std::vector<std::string> features;  // features with special code here, by Linux's names
};

/// Parses `cpuinfo`, a file in the format of /proc/cpuinfo.
Processor read_processor(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

}  // namespace roll
