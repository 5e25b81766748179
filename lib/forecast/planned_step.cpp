#include "forecast/planned_step.h"

#include <ATen/ATen.h>

#include <sstream>

#include "collect/rollout_statistics.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "forecast/sampling_traffic.h"
#include "model/device.h"
#include "rollout/engine.h"
#include "settings/placement.h"
#include "step/advantage_stage.h"
#include "step/learners.h"
#include "step/rl_step.h"
#include "step/step_index.h"
#include "step/token_samples.h"

namespace roll {

namespace {

/// What a rank has of a step, as if it was sampled: scores differ within a group, so that it teaches something.
std::vector<RolloutRecord> records_of(const ThinStep& step, const std::vector<int64_t>& share, bool with_baselines) {
  std::vector<RolloutRecord> records;
  for (const int64_t s : share) {
    RolloutRecord& record = records.emplace_back();
    record.step = step.number;
    record.group_index = s / step.group_size, record.sample_index = s % step.group_size;
    record.domain = step.domain_of_group[record.group_index];
    record.prompt_ids.assign(step.prompt_lengths[s], 0);
    record.response_ids.assign(step.response_lengths[s], 0);
    record.log_probs.assign(step.response_lengths[s], 0);
    record.finish_reason = "stop";
    record.score = record.reward = static_cast<double>(s % 2);
    record.difficulty = 0.5;
    if (!with_baselines || record.sample_index + 1 < step.group_size) continue;
    records.push_back(record);
    records.back().is_baseline = true, records.back().sample_index = step.group_size;
  }
  return records;
}

bool samples_baseline(const Config& config) {
  return config.experience.adv_estimator->samples_baseline;
}

/// Those of a rank, without data.
Roles planned_roles(const Config& config, const PlannedModels& models, const RoleMeshes& meshes, at::Device device) {
  Roles roles{.policy_spec = models.policy};
  const auto policy = [&](RoleMesh& role, const WorkerConfig& worker) {
    return Transformer::planned(models.policy, model_dtype(worker.model_args, device), model_parallel(role.mesh()));
  };
  if (meshes.actor.is_here()) roles.actor = policy(meshes.actor, config.actor_train);
  if (config.uses_reference() && meshes.reference.is_here()) {
    roles.reference = policy(meshes.reference, config.reference);
    for (auto& [name, tensor] : roles.reference->parameters()) tensor.set_requires_grad(false);
  }
  if (config.uses_critic()) {
    roles.critic_spec = models.critic;
    if (meshes.critic.is_here())
      roles.critic = ValueModel::planned(*models.critic, model_dtype(config.critic.model_args, device),
                                         model_parallel(meshes.critic.mesh()));
  }
  if (meshes.sampler.is_here() && !shares_weights(config, meshes.sampler.world().rank()))
    roles.sampler = policy(meshes.sampler, config.actor_train);
  return roles;
}

/// One rank of a run.
class PlannedRank {
 public:
  PlannedRank(const SimulatedWorld& world, const ThinStep& step, const Distribution& holders, Communicator& ranks)
      : config_(world.planned),
        step_(step),
        holders_(holders),
        ranks_(ranks),
        log_(lines_, lines_, {.rank = ranks.rank(), .num_ranks = ranks.size(), .terminal = {}}),
        meshes_(ranks),
        mesh_of_(role_meshes(config_, meshes_)),
        learners_(config_, meshes_, mesh_of_),
        roles_(
            planned_roles(config_, world.models, mesh_of_, world.ranks.path == Path::kDevice ? at::kCUDA : at::kCPU)),
        state_(config_.experience) {
    if (roles_.actor)
      actor_.emplace(config_, trained(config_, *roles_.actor, mesh_of_.actor.mesh()), mesh_of_.actor.mesh(), log_);
    if (roles_.critic)
      critic_.emplace(config_, trained(config_, *roles_.critic, mesh_of_.critic.mesh()), mesh_of_.critic.mesh(), log_);
  }

  /// Makes what only a run's first step makes.
  void prepare() {
    if (!config_.rollout_replay) update_sampler(roles_, mesh_of_, ranks_.traffic());
  }

  void run() {
    ranks_.traffic().set_phase(step_.number - 1 > config_.critic_warmup || !config_.uses_critic() ? "train_actor"
                                                                                                  : "train_critic");
    stop_agreed(ranks_);
    std::vector<RolloutRecord> mine = records_of(step_, holders_.shares[ranks_.rank()], samples_baseline(config_));
    if (!config_.rollout_replay) sample(mine);
    RlStep step = distribute_step(mine, step_.number, config_, roles_.policy_spec, mesh_of_.actor);
    Metrics metrics;
    if (learners_.is_here()) learn(step, metrics);
    learners_.broadcast(metrics);
  }

 private:
  void sample(const std::vector<RolloutRecord>& mine) {
    update_sampler(roles_, mesh_of_, ranks_.traffic());
    if (!mesh_of_.sampler.is_here()) return;
    Mesh& mesh = mesh_of_.sampler.mesh();
    EngineLimits limits;
    limit_cache(limits, cache_settings(config_.actor_infer.strategy_args.strategy_config), roles_.sampling_policy(),
                mesh.tp());
    ranks_.traffic().set_phase("generate");
    const int leader = mesh_of_.sampler.ranks()[mesh.world().rank() - mesh.place().tp];
    add_sampling_traffic(roles_.sampling_policy(), mesh.tp(), step_, holders_.shares[leader]);
    RolloutStatistics statistics;
    statistics.add_counts({}, mesh);
    for (const auto& [domain, worker] : config_.rewards) statistics.add_rewards(domain, mine, {}, mesh);
  }

  /// As rlvr.cpp does.
  void learn(RlStep& step, Metrics& metrics) {
    const LearnerMeshes meshes = learners_.meshes();
    step.home.ranks = world_groups(meshes.actor);
    run_forwards(step.here, step.facts, step.home, config_, roles_, forward_needs(config_), meshes, at::kMeta, log_,
                 metrics);
    metrics.merge(complete_step(step, config_, state_, meshes.actor));
    TokenSamples samples(step, 0, meshes.actor);
    metrics.merge(train_roles(step, config_, roles_, meshes, {actor_, critic_}, nullptr, samples));
  }

  const Config& config_;
  const ThinStep& step_;
  const Distribution& holders_;
  Communicator& ranks_;
  std::ostringstream lines_;  // that nobody reads
  Log log_;
  Meshes meshes_;
  RoleMeshes mesh_of_;
  Learners learners_;
  Roles roles_;
  ExperienceState state_;
  std::optional<ActorTrainer> actor_;
  std::optional<CriticTrainer> critic_;
};

}  // namespace

std::vector<RankTraffic> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders) {
  std::vector<RankTraffic> traffic(world.ranks.running.size());
  const auto make_groups = [&](Communicator& asked) {
    Meshes meshes(asked);
    const RoleMeshes roles = role_meshes(world.asked, meshes);
    const Learners learners(world.asked, meshes, roles);
  };
  const auto absent = [&](int rank, std::string_view name) -> std::string {
    if (name != FactsMessage::kMessage.name) return {};
    return encode_message(facts_message(records_of(step, holders.shares[rank], samples_baseline(world.planned))));
  };
  run_planned_ranks(world.ranks, make_groups, absent, [&](int rank, Communicator& ranks, RankTraffic& counted) {
    PlannedRank planned(world, step, holders, ranks);
    planned.prepare();
    counted = {};
    planned.run();
    traffic[std::ranges::lower_bound(world.ranks.running, rank) - world.ranks.running.begin()] = std::move(counted);
  });
  return traffic;
}

}  // namespace roll
