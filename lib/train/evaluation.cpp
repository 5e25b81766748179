#include "train/evaluation.h"

#include "base/error.h"
#include "dist/agree.h"
#include "process/stop.h"
#include "settings/placement.h"
#include "step/step_settings.h"
#include "train/prompts.h"
#include "train/summary.h"
#include "train/validation_sets.h"

namespace roll {

namespace {

/// Places the policy on the sampler's ranks; there are no other roles.
RolePlaces make_evaluation_places(const Config& config) {
  const RolePlace sampler = step_settings(config).places.sampler;
  return {.roles = {{kPolicyRole, sampler}}, .sampler = sampler, .learners = sampler.ranks, .sampler_copies = {}};
}

RoleSources make_evaluation_sources(const Config& config, at::Device device) {
  RoleSources sources = role_sources(config, device);
  RoleSource policy = sources.roles.at(kPolicyRole);
  policy.lora.reset();
  sources.roles = {{kPolicyRole, policy}};
  return sources;
}

class Evaluation {
 public:
  Evaluation(const Config& config, RunPlan plan, at::Device device, Communicator& ranks, Log& log);
  void run(int64_t prompts_per_piece, const std::string& resolved_config);

 private:
  Metrics measure(KeptEvaluation& evaluation);

  Communicator& ranks_;
  Log& log_;
  const RolePlaces places_;
  const RoleSources sources_;
  Tokenizer tokenizer_;
  const SamplingPlan sampling_;
  RolloutManager::Data data_;
  Meshes meshes_;
  RoleMeshes role_meshes_;
  Roles roles_;
  const std::string description_;  // text that describes the model
  RewardModels reward_models_;
  std::unique_ptr<RolloutWorker> worker_;  // on the sampler's ranks
  PolicyEngine engine_;
  RolloutManager rollout_manager_;
  Run run_;
};

Evaluation::Evaluation(const Config& config, RunPlan plan, at::Device device, Communicator& ranks, Log& log)
    : ranks_(ranks),
      log_(log),
      places_(make_evaluation_places(config)),
      sources_(make_evaluation_sources(config, device)),
      tokenizer_(Tokenizer::load(sources_.policy_folder())),
      sampling_(sampling_plan(config)),
      data_{.prompts = {},
            .prompts_per_step = 0,
            .validations = load_validations(config, sources_.policy_folder(), tokenizer_, log)},
      meshes_(ranks),
      role_meshes_(role_meshes(places_, meshes_)),
      roles_(make_roles(models_in(sources_), places_, role_meshes_, device)),
      description_(describe_policy(roles_, config, device)),
      reward_models_(judging_models(config), static_cast<uint64_t>(config.seed), meshes_, device, roles_, log),
      worker_(
          make_rollout_worker(config, sources_.policy_folder(), tokenizer_, reward_models_, role_meshes_.sampler, log)),
      engine_(sampling_, due_validations(sampling_, data_.validations), tokenizer_, roles_, role_meshes_,
              /*offload=*/nullptr, ranks.traffic()),
      rollout_manager_(sampling_, std::move(data_), engine_, worker_.get(), reward_models_, ranks),
      run_(std::move(plan), /*last_step=*/0, describe_run(config, description_), ranks, log) {
  if (role_meshes_.sampler.ranks().front() == ranks.rank()) log.show_progress();
}

/// `resolved_config`: recorded with the saved responses.
void Evaluation::run(int64_t prompts_per_piece, const std::string& resolved_config) {
  log_.info("{}", description_);
  KeptEvaluation evaluation(rollout_manager_, sampling_.sets, prompts_per_piece, resolved_config, sources_,
                            run_.folder().path(), ranks_);
  run_.track(0, measure(evaluation));
  rollout_manager_.close();
  run_.finish();
  log_.say("run folder: {}", std::filesystem::absolute(run_.folder().path()).lexically_normal().string());
}

Metrics Evaluation::measure(KeptEvaluation& evaluation) {
  Metrics metrics;
  std::map<std::string, MeasuredSet> measured;
  for (const SetPlan& set : sampling_.sets) {
    std::vector<RolloutRecord> records;  // records of the unnamed validation, on the first rank
    JudgedSamples judged;
    evaluation.for_each_piece(set, [&](std::vector<RolloutRecord> piece) {
      if (set.name.empty())
        std::ranges::move(piece, std::back_inserter(records));
      else
        std::ranges::move(judged_samples(piece).samples, std::back_inserter(judged.samples));
    });
    if (set.name.empty())
      metrics.merge(log_validation("validation", records, informative_samples(records), run_, ranks_, log_));
    else
      measured[set.name] = measure_over_ranks(judged, set.num_samples, ranks_);
  }
  metrics.merge(log_sets("validation", measured, log_));
  return metrics;
}

}  // namespace

void run_evaluation(const Config& config, const RunFlags& flags, int64_t prompts_per_piece, at::Device device,
                    Communicator& ranks, Log& log) {
  RunPlan plan = plan_run(config, flags, config.actor_train.backend_timeout * 60, {}, ranks, log);
  const std::string resolved_config = plan.keys.request.resolved_config;
  std::optional<Evaluation> evaluation;
  agree(ranks, [&] {
    if (plan.start.resume)
      throw user_error(
          "resume_from_checkpoint = {}: {} is a checkpoint of a training run, and an evaluation cannot resume it; to "
          "evaluate its model, give --model {}/actor and a new folder with --out",
          plan.keys.request.resume_from_checkpoint, plan.start.resume->folder.string(),
          plan.start.resume->folder.string());
    evaluation.emplace(config, std::move(plan), device, ranks, log);
  });
  try {
    evaluation->run(prompts_per_piece, resolved_config);
  } catch (const Stopped& stopped) {
    throw Stopped(stopped.kind, fmt::format("; judged responses are saved; resume with: {}", flags.resume_command));
  }
}

}  // namespace roll
