// roll sft: supervised fine-tuning.
#include "train/sft.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/job.h"
#include "model/device.h"
#include "settings/load_config.h"

namespace roll {

namespace {

void sft(const JobFlags& flags) {
  const auto checked = load_sft_config(flags.config, overrides_of(flags), load_options(flags));
  run_job(flags, plan_job(checked, checked.config.sft_train), [&](const Job& job) {
    if (checked.config.deterministic) use_deterministic_kernels();
    job.log.info("{}", checked.plan);
    run_sft(checked.config, run_flags(flags, job.screen), job.device, job.ranks, job.log);
  });
}

}  // namespace

void add_sft(CLI::App& app) {
  auto* sub = app.add_subcommand("sft", "supervised fine-tuning on prompts with responses");
  auto flags = std::make_shared<JobFlags>();
  add_job_flags(*sub, *flags);
  sub->callback([flags] { sft(*flags); });
}

}  // namespace roll
