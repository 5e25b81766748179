// Examines this machine's hardware and software for `roll doctor`, by trying each part.
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
  int online = 1;               // logical cores of the machine
  int allowed = 1;              // cores on which this process may run, by its affinity mask
  std::optional<double> quota;  // cores that the control group's CPU quota pays for; nullopt without a quota
  int usable = 1;               // cores that this process can keep busy within mask and quota
  std::string threads;          // threads_text() (job/threads.h) for a job of one rank
};

/// Measured FLOP/s of large matrix products (device_speed.h); nullopt if the device cannot compute them.
struct ProductSpeed {
  std::optional<double> float32, bfloat16;
};

/// The host's memory.
struct Memory {
  int64_t total_bytes = 0, available_bytes = 0;  // the kernel's MemTotal and MemAvailable
  std::optional<int64_t> limit_bytes;            // limit of the control group; nullopt without one
  /// Returns the smaller of available_bytes and limit_bytes.
  int64_t usable_bytes() const { return std::min(available_bytes, limit_bytes.value_or(available_bytes)); }
};

/// Reads the host's memory now.
Memory host_memory();

/// The file system that holds a folder.
struct Disk {
  std::string folder;
  int64_t total_bytes = 0, free_bytes = 0;  // free for this user
};

/// Everything that `roll doctor` reports.
struct Machine {
  std::string program;                 // "0.1.0 (7a2066a)"
  std::string system;                  // "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm), glibc 2.36"
  std::vector<std::string> libraries;  // version_lines() (job/launch.h)
  Processor processor;
  Cores cores;
  ProductSpeed cpu_speed, gpu_speed;  // gpu_speed: of the first GPU
  bool multiplies_bfloat16 = false;   // true: the CPU multiplies bfloat16 matrices natively; false: in float32
  Memory memory;
  std::vector<Disk> disks;
  CudaDevices cuda;
  MpiTrial mpi;
  std::optional<std::string> sandbox_problem;  // why untrusted programs cannot be isolated; nullopt if they can
};

/// Examines the machine, which takes some seconds. `program` is the program's version; try_two_ranks() (mpi_trial.h)
/// starts this program with `rank_arguments`. Sets torch's number of threads.
Machine examine_machine(const std::string& program, const std::vector<std::string>& rank_arguments);

/// Returns a report for people: the machine's parts, a run's defaults on it, and one line for a bug report.
std::string to_text(const Machine& machine);
/// Returns the same facts for programs.
Json to_json(const Machine& machine);

}  // namespace roll
