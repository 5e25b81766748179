// roll train: the RLVR pipeline. roll sft: supervised fine-tuning. roll dpo: direct preference optimisation.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/job.h"
#include "model/device.h"
#include "settings/load_config.h"
#include "train/dpo.h"
#include "train/rlvr.h"
#include "train/sft.h"

namespace roll {

namespace {

/// A subcommand that runs a pipeline as a job; `trained` is the role whose backend_timeout is the job's.
template <class C, class Load, class Run>
void add_pipeline(CLI::App& app, const char* name, const char* description, const Load& load, WorkerConfig C::*trained,
                  const Run& run) {
  auto* sub = app.add_subcommand(name, description);
  auto flags = std::make_shared<JobFlags>();
  add_job_flags(*sub, *flags);
  sub->callback([=] {
    const auto checked = load(flags->config, overrides_of(*flags), load_options(*flags));
    run_job(*flags, plan_job(checked, checked.config.*trained), [&](const Job& job) {
      if (checked.config.deterministic) use_deterministic_kernels();
      job.log.info("{}", checked.plan);
      run(checked.config, run_flags(*flags, job.screen), job.device, job.ranks, job.log);
    });
  });
}

}  // namespace

void add_train(CLI::App& app) {
  add_pipeline(app, "train", "reinforcement learning from verifiable rewards (RLVR)", load_config, &Config::actor_train,
               run_rlvr);
}

void add_sft(CLI::App& app) {
  add_pipeline(app, "sft", "supervised fine-tuning on prompts with responses", load_sft_config, &SftConfig::sft_train,
               run_sft);
}

void add_dpo(CLI::App& app) {
  add_pipeline(app, "dpo", "direct preference optimisation (DPO, IPO) on chosen and rejected responses",
               load_dpo_config, static_cast<WorkerConfig DpoConfig::*>(&DpoConfig::sft_train), run_dpo);
}

}  // namespace roll
