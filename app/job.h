// Runs training commands as jobs of several ranks: flags, start of the ranks, device, time limit, log.
#pragma once

#include <ATen/core/Tensor.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/config_flags.h"
#include "base/log.h"
#include "dist/communicator.h"
#include "run/run.h"
#include "settings/load_config.h"

namespace roll {

struct JobFlags {
  std::string config;
  std::optional<int64_t> num_ranks;
  std::optional<std::string> hostfile;
  std::string mpirun_args;
  bool dry_run = false;
  bool resume = false;
  bool new_run = false;
  bool allow_config_change = false;
  bool plain = false;
  bool quiet = false;
  std::optional<std::string> time_limit;
  std::string device = "auto";
  std::string communicator = "auto";  // name of a Transport
  std::vector<std::string> overrides;
};

/// Adds the flags of a job, its configuration and the overrides.
void add_job_flags(CLI::App& sub, JobFlags& flags, const InsteadOfFile& alternative = {});

/// Returns the overrides, plus resume_from_checkpoint=true for --resume.
std::vector<std::string> list_overrides(const JobFlags& flags);

/// Returns the flags for a run; screen: null for output as lines.
RunFlags run_flags(const JobFlags& flags, const std::optional<RoleShapes>& models, RunScreen* screen);

/// Returns the options for loading the configuration; without -n, a launcher's number of ranks is used.
LoadOptions load_options(const JobFlags& flags);

/// Context of a started rank, for the pipelines.
struct Job {
  Communicator& ranks;
  Log& log;
  at::Device device;
  RunScreen* screen;  // nullptr: output as lines
};

/// Job settings of a checked configuration.
struct JobPlan {
  std::string name;  // exp_name
  int64_t num_ranks = 1;
  std::string hostfile;
  double timeout_s = 1800;  // longest wait in one collective
  int64_t max_restarts = 0;
  std::vector<std::string> notes;
  std::map<std::string, std::string> environment;  // system_envs
};
/// Takes the job settings from a configuration; `worker` sets the timeout.
template <class T>
JobPlan plan_job(const CheckedConfig<T>& checked, const WorkerConfig& worker) {
  return {checked.config.exp_name,     checked.num_ranks, checked.hostfile,          worker.backend_timeout * 60,
          checked.config.max_restarts, checked.notes,     checked.config.system_envs};
}

/// Starts the ranks and waits for their end; in a process that is itself a rank, joins the others and runs `work`. With
/// --dry-run only prints the command that would start the ranks. AnotherRankFailed: a started rank failed.
void run_job(const JobFlags& flags, const JobPlan& plan, const std::function<void(const Job&)>& work);

}  // namespace roll
