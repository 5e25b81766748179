// roll train: the RLVR pipeline. roll sft: supervised fine-tuning. roll dpo: direct preference optimisation. roll
// distill: distillation from a teacher.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>

#include "app/commands.h"
#include "app/first_config.h"
#include "app/job.h"
#include "base/error.h"
#include "forecast/time_forecast.h"
#include "job/world.h"
#include "machine/machine.h"
#include "model/device.h"
#include "preview/config_data.h"
#include "settings/choose_recomputation.h"
#include "settings/load_config.h"
#include "settings/step_cost.h"
#include "train/dpo.h"
#include "train/rlvr.h"
#include "train/sft.h"

namespace roll {

namespace {

constexpr double kLongStep = 5e12;  // FLOPs: half a minute on two cores

/// Returns the bytes that this rank may use: unused GPU memory, or its share of the host's memory.
int64_t memory_bytes(at::Device device) {
  if (device.is_cuda()) return unused_device_bytes(device).all();
  return host_memory().usable_bytes() / detect_world().local_size;
}

/// Completes settings that depend on the ranks' memory (recomputation). **Collective**.
template <class C>
C choose_memory_settings(C config, const std::optional<RoleShapes>& models, const Job& job) {
  if (!chooses_recomputation(config) || !models) return config;
  const int64_t bytes = job.ranks.all_reduce_min(memory_bytes(job.device), "memory");
  for (const std::string& line :
       choose_recomputation(config, *models, job.device.is_cuda(), static_cast<double>(bytes)))
    job.log.info("{}", line);
  return config;
}

/// Prints a forecast of the step time. With --dry-run it also describes the rows. Before a run it prints only if a step
/// is long, and without running the policy. Launched ranks and resumed runs print nothing.
template <class C>
void show_forecast(const CheckedConfig<C>& checked, const JobFlags& flags) {
  if (!checked.hostfile.empty()) return;  // other hosts are not measured
  if (flags.dry_run) {
    std::fprintf(stderr, "%s\n", checked.plan.c_str());
    try {
      const ConfigData rows = view_data(checked.config, /*offline=*/true);  // offline: runs no user code
      for (const std::string& line : rows.lines) std::fprintf(stderr, "%s\n", line.c_str());
      std::fprintf(stderr, "%s\n", to_text(forecast_time(checked, rows)).c_str());
    } catch (const UserError& error) {  // the rows may be on another machine
      std::fprintf(stderr, "warning: %s\n", error.what());
    }
    return;
  }
  if constexpr (std::is_same_v<C, Config>) {
    const bool is_first = !load_options(flags).is_started && !flags.resume && !flags.quiet;
    const bool is_on_gpu = checked.config.actor_train.device_mapping.has_value();  // a trial would keep GPU memory
    if (!is_first || is_on_gpu || !checked.config.trains() || !checked.models) return;
    if (step_cost(checked.config, *checked.models).total() < kLongStep) return;
    const TimeForecast forecast = forecast_time(checked, {});
    if (forecast.why_unknown.empty()) std::printf("%s\n", to_text(forecast).c_str());
  }
}

/// Makes `sub` run a pipeline as a job. trained: the role whose backend_timeout applies to the job.
template <class C, class Load>
void add_pipeline(CLI::App& sub, const std::shared_ptr<JobFlags>& flags, const Load& load, WorkerConfig C::*trained,
                  void (*run)(const C&, const RunFlags&, at::Device, Communicator&, Log&)) {
  sub.callback([=] {
    const auto checked = load();
    show_forecast(checked, *flags);
    run_job(*flags, plan_job(checked, checked.config.*trained), [&](const Job& job) {
      if (checked.config.deterministic) use_deterministic_kernels();
      job.log.info("{}", checked.plan);
      run(choose_memory_settings(checked.config, checked.models, job), run_flags(*flags, checked.models, job.screen),
          job.device, job.ranks, job.log);
    });
  });
}

/// Like add_pipeline(), for commands that always read a configuration file.
template <class C>
void add_file_pipeline(CLI::App& sub,
                       CheckedConfig<C> (*load)(const std::filesystem::path&, const std::vector<std::string>&,
                                                const LoadOptions&),
                       WorkerConfig C::*trained,
                       void (*run)(const C&, const RunFlags&, at::Device, Communicator&, Log&)) {
  auto flags = std::make_shared<JobFlags>();
  add_job_flags(sub, *flags);
  add_pipeline(
      sub, flags, [=] { return load(flags->config, list_overrides(*flags), load_options(*flags)); }, trained, run);
}

void add_first_flags(CLI::App& sub, FirstFlags& flags) {
  sub.add_option("--model", flags.model, "the model, a folder or Hub name, instead of a configuration file");
  sub.add_option("--data", flags.data,
                 "with --model: the training rows, a file, folder or glob; their columns are detected")
      ->allow_extra_args(false);  // key=value may follow
  sub.add_option("--reward", flags.reward,
                 "with --model: reward type, or your function as FILE.py:FUNCTION; default: detected from the rows");
  sub.add_option("--algorithm", flags.algorithm, "with --model: grpo, ppo or reinforce; default: grpo");
  sub.add_option("--memory-gb", flags.memory_gb, "with --model: GB of one device, to choose the parallel layout")
      ->check(CLI::PositiveNumber);
  sub.add_option("--validation", flags.validation, "with --model: validation rows, which are never trained on");
}

}  // namespace

void add_train(CLI::App& app) {
  auto* sub = app.add_subcommand("train", "reinforcement learning from verifiable rewards (RLVR)");
  auto flags = std::make_shared<JobFlags>();
  auto first = std::make_shared<FirstFlags>();
  add_job_flags(*sub, *flags, {"--model M --data ROWS", [first] { return first->any(); }});
  add_first_flags(*sub, *first);
  const auto load = [=] {
    return first->any() ? load_generated(*first, *flags, list_overrides(*flags))
                        : load_config(flags->config, list_overrides(*flags), load_options(*flags));
  };
  add_pipeline(*sub, flags, load, &Config::actor_train, run_rlvr);
}

void add_sft(CLI::App& app) {
  add_file_pipeline(*app.add_subcommand("sft", "supervised fine-tuning on prompts with responses"), load_sft_config,
                    static_cast<WorkerConfig SftConfig::*>(&SftConfig::trained), run_sft);
}

void add_dpo(CLI::App& app) {
  add_file_pipeline(
      *app.add_subcommand("dpo", "direct preference optimisation (DPO, IPO) on chosen and rejected responses"),
      load_dpo_config, static_cast<WorkerConfig DpoConfig::*>(&DpoConfig::trained), run_dpo);
}

void add_distill(CLI::App& app) {
  add_file_pipeline(
      *app.add_subcommand("distill", "distillation of a teacher into a student over prompts with responses"),
      load_distill_config, static_cast<WorkerConfig DistillConfig::*>(&DistillConfig::trained), run_distill);
}

}  // namespace roll
