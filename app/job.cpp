#include "app/job.h"

#include <ATen/Context.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <iostream>

#include "base/error.h"
#include "base/stop.h"
#include "base/terminal.h"
#include "dist/ending.h"
#include "dist/launch.h"

namespace roll {

void add_job_flags(CLI::App& sub, JobFlags& flags) {
  sub.add_option("--config", flags.config, "YAML file")->required();
  sub.add_option("-n", flags.num_ranks, "processes; default: the devices of device_mapping, or 1")
      ->check(CLI::Range(1, 65536));
  sub.add_option("--device", flags.device, "cpu, cuda, or auto: cuda where there is one")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
      ->capture_default_str();
  sub.add_option("overrides", flags.overrides, "key=value pairs that replace values of the file");
}

namespace {

at::Device device_of(const std::string& wish, const World& world) {
  if (wish == "cpu" || (wish == "auto" && !at::hasCUDA())) return at::kCPU;
  if (!at::hasCUDA()) throw user_error("--device = cuda: no CUDA device is usable here; use cpu, or check nvidia-smi");
  const auto num_devices = static_cast<int>(at::globalContext().getAcceleratorHooksInterface(at::kCUDA).deviceCount());
  return at::Device(at::kCUDA, static_cast<c10::DeviceIndex>(world.local_rank % num_devices));
}

/// The whole command line again, for mpirun: what follows the program's name.
std::vector<std::string> own_arguments() {
  std::vector<std::string> arguments;
  std::FILE* file = std::fopen("/proc/self/cmdline", "rb");
  if (!file) throw system_error("/proc/self/cmdline: cannot be read{}", errno_text());
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != 0) {
      text += static_cast<char>(c);
      continue;
    }
    arguments.push_back(std::move(text));
    text.clear();
  }
  std::fclose(file);
  arguments.erase(arguments.begin());
  return arguments;
}

}  // namespace

void run_job(const JobFlags& flags, int64_t num_ranks, const std::vector<std::string>& notes,
             const std::function<void(const Job&)>& work) {
  if (const auto exit_code = run_ranks(static_cast<int>(num_ranks), own_arguments())) {
    // The ranks have said what there was to say; only their exit code is left to pass on.
    if (*exit_code != 0) throw AnotherRankFailed(0, *exit_code);
    return;
  }
  catch_stop_signals();
  const World world = detect_world();
  set_threads_per_rank(world);
  const at::Device device = device_of(flags.device, world);
  const auto ranks = make_communicator({.device = device});
  Log log(std::cout, std::cerr,
          {.rank = ranks->rank(), .num_ranks = ranks->size(), .terminal = terminal_of(STDOUT_FILENO)});
  for (const auto& note : notes) log.note("note: {}", note);
  work({*ranks, log, device});
}

}  // namespace roll
