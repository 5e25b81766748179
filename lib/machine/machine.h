// Examines this machine's hardware and software by trying each part, for `roll doctor`.
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
  int online = 1;               // cores of the machine
  int allowed = 1;              // allowed by the affinity mask
  std::optional<double> quota;  // CPU quota of the control group
  int usable = 1;
  std::string threads;  // compute threads in a job of one rank, and how idle ones wait
};

/// FLOP/s of a GEMM; nullopt: it cannot be computed.
struct ProductSpeed {
  std::optional<double> float32, bfloat16;
};

struct Memory {
  int64_t total_bytes = 0, available_bytes = 0;
  std::optional<int64_t> limit_bytes;  // limit of the control group

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
  bool multiplies_bfloat16 = false;  // bfloat16 GEMMs on the CPU run natively; else in float32
  Memory memory;
  std::vector<Disk> disks;
  CudaDevices cuda;
  MpiTrial mpi;
  std::optional<std::string> sandbox_problem;  // why untrusted programs cannot be isolated
};

/// Examines the machine, in some seconds. `rank_arguments`: see try_two_ranks(). Only the first GPU is measured.
Machine examine_machine(const std::string& program, const std::vector<std::string>& rank_arguments);

/// Returns a report for people: the machine's parts, a run's defaults on it, and one line for a bug report.
std::string to_text(const Machine& machine);
Json to_json(const Machine& machine);

}  // namespace roll
