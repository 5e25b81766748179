// roll train: the RLVR pipeline.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/job.h"
#include "model/device.h"
#include "settings/load_config.h"
#include "train/rlvr.h"

namespace roll {

namespace {

void train(const JobFlags& flags) {
  const auto checked = load_config(flags.config, overrides_of(flags), load_options(flags));
  run_job(flags, plan_job(checked, checked.config.actor_train), [&](const Job& job) {
    if (checked.config.deterministic) use_deterministic_kernels();
    job.log.info("{}", checked.plan);
    run_rlvr(checked.config, run_flags(flags, job.screen), job.device, job.ranks, job.log);
  });
}

}  // namespace

void add_train(CLI::App& app) {
  auto* sub = app.add_subcommand("train", "reinforcement learning from verifiable rewards (RLVR)");
  auto flags = std::make_shared<JobFlags>();
  add_job_flags(*sub, *flags);
  sub->callback([flags] { train(*flags); });
}

}  // namespace roll
