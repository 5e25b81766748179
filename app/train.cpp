// roll train: the RLVR pipeline.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/commands.h"
#include "app/job.h"
#include "checkpoint/hub_cache.h"
#include "dist/agree.h"
#include "model/device.h"
#include "settings/load_config.h"
#include "train/rlvr.h"

namespace roll {

namespace {

RoleFolders folders_of(const Config& config) {
  const auto folder = [](const WorkerConfig& worker) {
    return model_folder(worker.model_args.model_name_or_path.value());
  };
  RoleFolders folders{.actor = folder(config.actor_train), .reference = {}, .critic = {}};
  if (config.uses_reference()) folders.reference = folder(config.reference);
  if (config.uses_critic()) folders.critic = folder(config.critic);
  return folders;
}

void train(const JobFlags& flags) {
  const auto checked = load_config(flags.config, flags.overrides, load_options(flags));
  run_job(flags, plan_job(checked, checked.config.actor_train), [&](const Job& job) {
    if (checked.config.deterministic) use_deterministic_kernels();
    job.log.info("{}", checked.plan);
    std::unique_ptr<RlvrPipeline> pipeline;
    agree(job.ranks, [&] {
      pipeline = std::make_unique<RlvrPipeline>(
          checked.config, RlvrOptions{folders_of(checked.config), resolved_yaml(checked.config), job.device}, job.ranks,
          job.log);
    });
    pipeline->run();
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
