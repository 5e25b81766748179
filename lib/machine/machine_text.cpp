#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "machine/machine.h"

namespace roll {

namespace {

double gib(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 30);
}

std::string speed_text(const ProductSpeed& speed) {
  const auto flops_text = [](const std::optional<double>& flops) {
    return flops ? fmt::format("{:.0f} GFLOP/s", *flops / 1e9) : "cannot be computed";
  };
  return fmt::format("fp32 {}, bf16 {}", flops_text(speed.float32), flops_text(speed.bfloat16));
}

std::string cores_text(const Cores& cores) {
  std::string text = fmt::format("{} of {} usable", cores.usable, cores.online);
  if (cores.allowed < cores.online) text += fmt::format(", {} by affinity", cores.allowed);
  if (cores.quota) text += fmt::format(", a quota of {:.4g}", *cores.quota);
  return text;
}

std::string memory_text(const Memory& memory) {
  std::string text = fmt::format("{:.1f} of {:.1f} GiB free", gib(memory.available_bytes), gib(memory.total_bytes));
  if (memory.limit_bytes) text += fmt::format(", control group limit {:.1f} GiB", gib(*memory.limit_bytes));
  return text;
}

std::string device_text(const CudaDevice& device) {
  const std::string free = device.free_bytes ? fmt::format("{:.1f}", gib(*device.free_bytes)) : "unknown";
  return fmt::format("{}, capability {}, {} of {:.1f} GiB free", device.name, device.capability, free,
                     gib(device.total_bytes));
}

std::string mpi_text(const MpiTrial& mpi) {
  return mpi.problem.value_or(fmt::format("started by mpirun, exchanged a number and ended in {:.1f} s", mpi.seconds));
}

bool has_gpu(const Machine& machine) {
  return !machine.cuda.devices.empty();
}

using Row = std::pair<std::string, std::string>;

std::vector<Row> machine_rows(const Machine& machine) {
  std::vector<Row> rows = {
      {"program", "roll " + machine.program},
      {"libraries", fmt::format("{}", fmt::join(machine.libraries, ", "))},
      {"system", machine.system},
      {"processor", fmt::format("{}; {}", machine.processor.model, fmt::join(machine.processor.features, " "))},
      {"cores", cores_text(machine.cores)},
      {"products", speed_text(machine.cpu_speed)},
      {"memory", memory_text(machine.memory)}};
  for (const Disk& disk : machine.disks)
    rows.emplace_back("disk", fmt::format("{:.1f} of {:.1f} GiB free in {}", gib(disk.free_bytes),
                                          gib(disk.total_bytes), disk.folder));
  rows.emplace_back("driver", machine.cuda.driver);
  if (!machine.cuda.problem.empty()) rows.emplace_back("GPU", machine.cuda.problem);
  for (size_t i = 0; i < machine.cuda.devices.size(); ++i)
    rows.emplace_back(fmt::format("cuda:{}", i), device_text(machine.cuda.devices[i]));
  if (has_gpu(machine)) rows.emplace_back("products", "on cuda:0 " + speed_text(machine.gpu_speed));
  rows.emplace_back("two ranks", mpi_text(machine.mpi));
  rows.emplace_back("sandbox", machine.sandbox_problem.value_or("isolates programs"));
  return rows;
}

/// Returns what a run uses by default.
std::vector<Row> default_rows(const Machine& machine) {
  const bool on_gpu = has_gpu(machine);
  const std::string dtype_text =
      on_gpu ? "bf16, the default of model_args.dtype on a GPU"
      : machine.multiplies_bfloat16
          ? "fp32; with model_args.dtype: bf16, matrix products on this processor's bfloat16 units"
          : "fp32; with model_args.dtype: bf16, weights of half the size and matrix products in fp32, which is no "
            "slower here";
  return {{"device", on_gpu ? fmt::format("{} GPU(s)", machine.cuda.devices.size()) : "the CPU"},
          {"numbers", dtype_text},
          {"threads", machine.cores.threads + ", shared by the ranks of a job"},
          {"ranks", machine.mpi.problem ? "one; more ranks need mpirun or another launcher"
                    : on_gpu            ? "started by mpirun, collectives by NCCL"
                                        : "started by mpirun, collectives by MPI"},
          {"code_sandbox", machine.sandbox_problem ? "refused unless unsafe_no_sandbox is true" : "available"}};
}

std::string report_line(const Machine& machine) {
  std::string gpus = has_gpu(machine) ? "" : "no GPU";
  for (const CudaDevice& device : machine.cuda.devices) gpus += (gpus.empty() ? "" : " + ") + device.name;
  return fmt::format("roll {}; {}; {}; {}, {}; cores {}; {}; memory {}; {} (driver {}); two ranks: {}; sandbox: {}",
                     machine.program, fmt::join(machine.libraries, ", "), machine.system, machine.processor.model,
                     fmt::join(machine.processor.features, " "), cores_text(machine.cores),
                     speed_text(machine.cpu_speed), memory_text(machine.memory), gpus, machine.cuda.driver,
                     mpi_text(machine.mpi), machine.sandbox_problem.value_or("isolates"));
}

std::string table(const std::string& title, const std::vector<Row>& rows) {
  std::string text = title + "\n";
  for (const auto& [name, value] : rows) text += fmt::format("  {:<14}{}\n", name, value);
  return text;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json speed_json(const ProductSpeed& speed) {
  return {{"float32_flops_per_s", json_float(speed.float32.value_or(NAN))},
          {"bfloat16_flops_per_s", json_float(speed.bfloat16.value_or(NAN))}};
}

Json gpu_json(const Machine& machine) {
  Json devices = Json::array();
  for (const CudaDevice& device : machine.cuda.devices)
    devices.push_back({{"name", device.name},
                       {"capability", device.capability},
                       {"total_bytes", device.total_bytes},
                       {"free_bytes", or_null(device.free_bytes)}});
  return {{"driver", machine.cuda.driver},
          {"problem", machine.cuda.problem.empty() ? Json() : Json(machine.cuda.problem)},
          {"devices", devices},
          {"products", speed_json(machine.gpu_speed)}};
}

}  // namespace

std::string to_text(const Machine& machine) {
  return table("This machine", machine_rows(machine)) + "\n" +
         table("Defaults of a run on this machine", default_rows(machine)) + "\nFor a bug report\n" +
         report_line(machine) + "\n";
}

Json to_json(const Machine& machine) {
  Json defaults = Json::object(), disks = Json::array();
  for (const auto& [name, value] : default_rows(machine)) defaults[name] = value;
  for (const Disk& disk : machine.disks)
    disks.push_back({{"folder", disk.folder}, {"total_bytes", disk.total_bytes}, {"free_bytes", disk.free_bytes}});
  const Cores& cores = machine.cores;
  const Memory& memory = machine.memory;
  return {{"roll", machine.program},
          {"libraries", machine.libraries},
          {"system", machine.system},
          {"processor", {{"model", machine.processor.model}, {"features", machine.processor.features}}},
          {"cores",
           {{"online", cores.online},
            {"allowed", cores.allowed},
            {"quota", or_null(cores.quota)},
            {"usable", cores.usable}}},
          {"products", speed_json(machine.cpu_speed)},
          {"memory",
           {{"total_bytes", memory.total_bytes},
            {"available_bytes", memory.available_bytes},
            {"limit_bytes", or_null(memory.limit_bytes)}}},
          {"disks", disks},
          {"gpu", gpu_json(machine)},
          {"mpirun", {{"problem", or_null(machine.mpi.problem)}, {"seconds", json_float(machine.mpi.seconds)}}},
          {"sandbox", {{"problem", or_null(machine.sandbox_problem)}}},
          {"uses", defaults},
          {"report", report_line(machine)}};
}

}  // namespace roll
