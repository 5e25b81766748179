// What `train` and `sft` share: flags, starting the ranks, device, log.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "dist/communicator.h"

namespace CLI {
class App;
}

namespace roll {

struct JobFlags {
  std::string config;
  std::optional<int64_t> num_ranks;
  std::string device = "auto";
  std::vector<std::string> overrides;
};

/// Adds --config, -n, --device and the overrides.
void add_job_flags(CLI::App& sub, JobFlags& flags);

/// One rank of a job that has been started: everything a pipeline needs.
struct Job {
  Communicator& ranks;
  Log& log;
  at::Device device;
};

/// Starts `num_ranks` processes when this one is alone and waits for their end; else joins them and runs `work`.
void run_job(const JobFlags& flags, int64_t num_ranks, const std::vector<std::string>& notes,
             const std::function<void(const Job&)>& work);

}  // namespace roll
