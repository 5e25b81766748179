// The processor, as far as this program's speed depends on it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Processor {
  std::string model;                  // "AMD EPYC 7B13"; "unknown" where the kernel does not say
  std::vector<std::string> features;  // of those that some kernel here has code for, in the kernel's words
};

/// `cpuinfo`: a file in the format of /proc/cpuinfo.
Processor read_processor(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

}  // namespace roll
