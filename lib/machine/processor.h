// Reads the processor's model and the instruction sets that this program's speed depends on, for `roll doctor` and
// `roll new`.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace roll {

struct Processor {
  std::string model;                  // "AMD EPYC 7B13"; "unknown" if the kernel does not tell
  std::vector<std::string> features;  // the instruction sets that it has, by Linux's names: "avx2"
};

/// Parses `cpuinfo`, a file in the format of /proc/cpuinfo (tests pass others).
Processor read_processor(const std::filesystem::path& cpuinfo = "/proc/cpuinfo");

/// Returns true if the processor has instructions that multiply bfloat16 numbers.
bool has_bf16_products(const Processor& processor);

}  // namespace roll
