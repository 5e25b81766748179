#include "machine/machine.h"

#include <ATen/ATen.h>
#include <gnu/libc-version.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "job/control_group.h"
#include "job/launch.h"
#include "job/threads.h"
#include "machine/device_speed.h"
#include "ops/products.h"
#include "sandbox/box.h"

namespace roll {

namespace {

constexpr double kMeasuring_s = 0.3;  // per kind of product

std::string distribution() {
  std::ifstream file("/etc/os-release");
  const std::string name = "PRETTY_NAME=";
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    std::erase(line, '"');
    return line.substr(name.size());
  }
  return "unknown distribution";
}

std::string system_text() {
  utsname names{};
  ::uname(&names);
  return fmt::format("{} {} {}, {}, glibc {}", names.sysname, names.release, names.machine, distribution(),
                     ::gnu_get_libc_version());
}

Cores cores() {
  set_threads_per_rank({});
  return {.online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)),
          .allowed = num_allowed_cores(),
          .quota = control_group().cores,
          .usable = num_usable_cores(),
          .threads = threads_text()};
}

}  // namespace

Memory host_memory() {
  Memory found{.limit_bytes = control_group().memory_bytes};
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const auto bytes = [&] { return 1024 * std::stoll(line.substr(line.find(':') + 1)); };
    if (line.starts_with("MemTotal:")) found.total_bytes = bytes();
    if (line.starts_with("MemAvailable:")) found.available_bytes = bytes();
  }
  return found;
}

namespace {

/// Skips missing folders.
std::vector<Disk> disks(const std::vector<std::string>& folders) {
  std::vector<Disk> found;
  for (const std::string& folder : folders) {
    struct statvfs disk {};
    if (::statvfs(folder.c_str(), &disk) != 0) continue;
    const auto unit = static_cast<int64_t>(disk.f_frsize);
    found.push_back({.folder = folder,
                     .total_bytes = unit * static_cast<int64_t>(disk.f_blocks),
                     .free_bytes = unit * static_cast<int64_t>(disk.f_bavail)});
  }
  return found;
}

std::string current_folder() {
  std::error_code gone;
  const std::string folder = std::filesystem::current_path(gone).string();
  return gone ? "." : folder;
}

std::optional<double> best_speed(at::Device device, at::ScalarType dtype) {
  try {
    return best_matmul_peak(device, dtype, kMeasuring_s);
  } catch (const c10::Error&) {  // another process uses the GPU, or this LibTorch has no kernels for it
    return std::nullopt;
  }
}

ProductSpeed measure_speed(at::Device device) {
  return {.float32 = best_speed(device, at::kFloat), .bfloat16 = best_speed(device, at::kBFloat16)};
}

std::optional<std::string> sandbox_problem() {
  try {
    return why_not_isolated("python3");
  } catch (const UserError& error) {  // Python is missing or too old
    return error.what();
  }
}

}  // namespace

Machine examine_machine(const std::string& program, const std::vector<std::string>& rank_arguments) {
  Machine machine{.program = program, .system = system_text(), .libraries = version_lines()};
  machine.mpi = try_two_ranks(rank_arguments);
  machine.sandbox_problem = sandbox_problem();
  machine.processor = read_processor();
  machine.cores = cores();
  machine.multiplies_bfloat16 = multiplies_bfloat16();
  machine.cpu_speed = measure_speed(at::kCPU);
  machine.memory = host_memory();
  machine.disks = disks({current_folder(), "/dev/shm"});
  machine.cuda = cuda_devices();
  if (!machine.cuda.devices.empty()) machine.gpu_speed = measure_speed({at::kCUDA, 0});
  return machine;
}

}  // namespace roll
