// Runs commands such as `roll train` as jobs of one or more ranks (processes): their flags, start of the ranks, device,
// time limit and log.
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

/// Values of the flags of a job; `roll train --help` explains each.
struct JobFlags {
  std::string config;                     // --config: path of the YAML file
  std::optional<int64_t> num_ranks;       // -n; unset: load_options() says what applies
  std::optional<std::string> hostfile;    // --hostfile: path; unset: the configuration key hostfile
  std::string mpirun_args;                // --mpirun-args: one text, split like a shell's command line
  bool dry_run = false;                   // --dry-run: only print the command
  bool resume = false;                    // --resume
  bool new_run = false;                   // --new-run: use output_dir/<date>
  bool allow_config_change = false;       // --allow-config-change: resume with a different training
  bool plain = false;                     // --plain: lines instead of the full-screen view
  bool quiet = false;                     // --quiet: show only warnings, validations and the end
  std::optional<std::string> time_limit;  // --time-limit, as in "90m" (parse_time_limit() in job/time_limit.h)
  std::string device = "auto";            // --device: cpu, cuda or auto
  std::string communicator = "auto";      // --communicator: nccl, mpi, tcp or auto, names of Transport (job/join.h)
  std::vector<std::string> overrides;     // key=value
};

/// Adds the flags in JobFlags, --config and the overrides to the subcommand `sub`. `flags` must outlive the parsing.
/// `alternative`: flags that may replace --config (app/cli/config_flags.h).
void add_job_flags(CLI::App& sub, JobFlags& flags, const InsteadOfFile& alternative = {});

/// Returns the overrides, plus resume_from_checkpoint=true for --resume.
std::vector<std::string> list_overrides(const JobFlags& flags);

/// Returns what a Run (run/run.h) takes besides its configuration: flags, the command line that resumes this run, and
/// versions. `models` (CheckedConfig::models): tells if the policy uses LongRoPE's long factors, for RunFlags::is_long;
/// if it is nullopt, is_long is false. `screen`: the full-screen view, or nullptr for output as lines.
RunFlags run_flags(const JobFlags& flags, const std::optional<RoleShapes>& models, RunScreen* screen);

/// Returns the options for loading the configuration. LoadOptions::num_ranks is -n, else the number of ranks that
/// mpirun, srun or torchrun started, else unset. If it is unset, loading takes the number of devices in the roles'
/// device_mapping, else of the hostfile's slots, else 1.
LoadOptions load_options(const JobFlags& flags);

/// The argument that run_job() passes to each rank's `work`; valid until `work` returns.
struct Job {
  Communicator& ranks;  // all ranks of the job
  Log& log;
  at::Device device;  // this rank's; already the thread's current device
  RunScreen* screen;  // the full-screen view; nullptr for output as lines, and on all ranks but the first
};

/// Job settings of a checked configuration.
struct JobPlan {
  std::string name;  // configuration key exp_name
  int64_t num_ranks = 1;
  std::string hostfile;                            // path; "" for all ranks on this host
  double timeout_s = 1800;                         // longest wait in one collective
  int64_t max_restarts = 0;                        // restarts after a rank died or hung
  std::vector<std::string> notes;                  // shown once at the start
  std::map<std::string, std::string> environment;  // configuration key system_envs: variables set on every rank
};
/// Returns the job settings of a checked configuration. T: the command's configuration struct, such as Config. `worker`
/// is the configuration of the trained role; its backend_timeout (minutes) becomes timeout_s.
template <class T>
JobPlan plan_job(const CheckedConfig<T>& checked, const WorkerConfig& worker) {
  return {checked.config.exp_name,     checked.num_ranks, checked.hostfile,          worker.backend_timeout * 60,
          checked.config.max_restarts, checked.notes,     checked.config.system_envs};
}

/// Runs a job. The calling process takes one of two parts:
///  - It is a rank if mpirun, srun, torchrun or run_job() in another process started it. It also is one if the job has
///  a
///    single rank on this host and max_restarts is 0. It joins the other ranks and calls `work`, whose exceptions it
///    rethrows.
///  - Else it starts the ranks with its own command line and waits for their end, without calling `work`. It uses
///    mpirun, but not for a single rank on this host, which it starts itself and may restart. Throws what run_ranks()
///    (job/launch.h) throws. Throws AnotherRankFailed with the exit code if a rank failed and has printed its error.
/// With --dry-run, only prints the command that would start the ranks. Throws UserError if --mpirun-args, --time-limit
/// or a value in system_envs is malformed.
void run_job(const JobFlags& flags, const JobPlan& plan, const std::function<void(const Job&)>& work);

}  // namespace roll
