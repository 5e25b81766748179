// `roll doctor`: the hardware and software of this machine, found out by trying each part.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "machine/cuda_devices.h"
#include "machine/mpi_trial.h"
#include "machine/processor.h"

namespace roll {

struct Cores {
  int online = 1;               // of the machine
  int allowed = 1;              // by the affinity mask
  std::optional<double> quota;  // of the control group
  int usable = 1;
  std::string threads;  // how many compute in a job of one rank, and how the idle ones wait
};

/// Floating-point operations per second of a matrix product; nullopt where it cannot be computed.
struct ProductSpeed {
  std::optional<double> float32, bfloat16;
};

struct Memory {
  int64_t total_bytes = 0, available_bytes = 0;
  std::optional<int64_t> limit_bytes;  // of the control group

  int64_t usable_bytes() const { return std::min(available_bytes, limit_bytes.value_or(available_bytes)); }
};

Memory host_memory();

struct Disk {
  std::string folder;
  int64_t total_bytes = 0, free_bytes = 0;  // for this user
};

struct Machine {
  std::string program;  // "0.1.0 (7a2066a)"
  std::string system;   // "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm), glibc 2.36"
  std::vector<std::string> libraries;
  Processor processor;
  Cores cores;
  ProductSpeed cpu_speed, gpu_speed;
  bool multiplies_bfloat16 = false;  // the CPU; else it computes such products in float32
  Memory memory;
  std::vector<Disk> disks;
  CudaDevices cuda;
  MpiTrial mpi;
  std::optional<std::string> sandbox_problem;  // why programs of others cannot be isolated
};

/// Takes some seconds. `rank_arguments` as try_two_ranks(). Only the first GPU is measured.
Machine examine_machine(const std::string& program, const std::vector<std::string>& rank_arguments);

/// A report for people: what the machine has, what a run would use by default, and one line for a bug report.
std::string to_text(const Machine& machine);
Json to_json(const Machine& machine);

}  // namespace roll
