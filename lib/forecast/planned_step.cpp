#include "forecast/planned_step.h"

#include <ATen/ATen.h>

#include <sstream>

#include "collect/rollout_statistics.h"
#include "dist/agree.h"
#include "dist/merged_metrics.h"
#include "forecast/sampling_traffic.h"
#include "model/device.h"
#include "model/spec.h"
#include "pipeline/stage.h"
#include "reward/shaped.h"
#include "rollout/engine.h"
#include "settings/placement.h"
#include "step/step_index.h"
#include "step/step_settings.h"
#include "step/step_trainer.h"

namespace roll {

namespace {

/// Returns a rank's records as if sampled. Scores differ within a group, so that advantages are not 0.
std::vector<RolloutRecord> make_records(const ThinStep& step, const std::vector<int64_t>& share, const Config& config) {
  const bool with_baselines = config.experience.adv_estimator->samples_baseline;
  std::vector<RolloutRecord> records;
  for (const int64_t s : share) {
    RolloutRecord& record = records.emplace_back();
    record.step = step.number;
    record.group_index = s / step.group_size;
    record.sample_index = s % step.group_size;
    record.domain = step.domain_of_group[record.group_index];
    // Ids matter only for prefix sharing: a group shares its prompt, and all other contexts have no common token.
    record.prompt_ids.assign(step.prompt_lengths[s], record.group_index);
    record.response_ids.assign(step.response_lengths[s], step.num_groups() + s);
    record.log_probs.assign(step.response_lengths[s], 0);
    if (!step.turns.empty() && !step.turns[s].empty())
      record.turns = step.turns[s];
    else if (config.agentic.is_used())
      record.turns = {{.num_tokens = step.response_lengths[s]}};
    int64_t id = step.num_groups() + s;
    auto next = record.response_ids.begin();
    for (size_t k = 0; k + 1 < record.turns.size(); ++k) {
      next += record.turns[k].num_tokens;
      if (record.turns[k + 1].is_fresh) std::fill(next, record.response_ids.end(), id += step.num_sequences());
      next += record.turns[k].num_environment_tokens;
    }
    record.finish_reason = "stop";
    record.score = record.reward = static_cast<double>(s % 2);
    record.difficulty = 0.5;
    if (const auto worker = config.rewards.find(record.domain); worker != config.rewards.end())
      record.reward_detail["parts"] =
          parts_json(std::vector<RewardPart>(num_reward_parts(worker->second.reward), {.reward = record.reward}));
    if (!with_baselines || record.sample_index + 1 < step.group_size) continue;
    records.push_back(record);
    records.back().is_baseline = true;
    records.back().sample_index = step.group_size;
  }
  return records;
}

/// Returns the roles' models without data.
RoleModels planned_models(const Config& config, const RoleShapes& shapes, at::Device device) {
  RoleModels planned;
  for (const auto& [role, worker] : learning_roles(config))
    planned[role] = {shape_of_role(shapes, role), model_dtype(worker->model_args, device)};
  return planned;
}

/// Returns the FLOPs of a rank's part of a role's model: all layers, or its stage's.
ForwardFlops stage_flops(const ModelSpec& spec, const PipelineStage* stage) {
  if (!stage) return ForwardFlops(spec);
  const std::vector<Layer> layers = spec.layers();
  std::vector<Layer> stage_layers;
  for (const int64_t layer : stage->split().stage_layers(stage->index())) stage_layers.push_back(layers[layer]);
  return {spec, stage_layers, stage->is_first(), stage->is_last()};
}

/// Wraps a model's function to count FLOPs per micro-batch: `times` forwards, divided by the context and tensor ranks
/// of `role`. With interleaved stages, counts all chunks in the first chunk's pass.
template <class R, class B, class Model>
void count_flops(std::function<R(const B&)>& forward, const Model& model, bool gives_values, double times,
                 const RoleMesh& role, const std::string& phase, PlannedWork& work) {
  const double share = times / static_cast<double>(role.shape().stage_ranks());
  const std::shared_ptr<PipelineStage> stage = model.parallel().stage;
  double &flops = work.flops[phase], &passes = work.passes[phase];
  forward = [forward, gives_values, share, stage, model_flops = stage_flops(model.spec(), stage.get()), &flops,
             &passes](const B& micro_batch) {
    ++passes;
    if (stage && stage->chunk() > 0) return forward(micro_batch);
    const int64_t responses = gives_values ? 0 : micro_batch.mask("response_mask").sum().template item<int64_t>();
    double total = model_flops(0, responses);
    for (const int64_t length : batch_lengths(micro_batch)) total += model_flops(length, 0);
    for (const Branch& branch : micro_batch.tokens.tree) total -= model_flops(branch.shared, 0);
    flops += share * total;
    return forward(micro_batch);
  };
}

/// One rank of a planned run.
class PlannedRank {
 public:
  PlannedRank(const SimulatedWorld& world, const ThinStep& step, const Distribution& holders, Communicator& ranks,
              PlannedWork& work)
      : config_(world.planned),
        on_device_(world.ranks.path == Path::kDevice),
        step_(step),
        holders_(holders),
        ranks_(ranks),
        log_(lines_, lines_, {.rank = ranks.rank(), .num_ranks = ranks.size(), .terminal = {}}),
        meshes_(ranks),
        settings_(step_settings(config_)),
        role_meshes_(role_meshes(settings_.places, meshes_)),
        roles_(make_roles(planned_models(config_, world.models, on_device_ ? at::kCUDA : at::kCPU), settings_.places,
                          role_meshes_, at::kMeta)),
        trainer_(settings_, counted_models(work), role_losses(settings_), role_meshes_, log_) {}

  /// Makes what only the first step of a run makes.
  void prepare() {
    if (!config_.rollout_replay) prepare_weight_sync(roles_, role_meshes_, ranks_.traffic());
  }

  void run() {
    const std::vector<RoleUpdates>& updates = settings_.updates;
    const bool trained_all = step_.number - 1 >= updates.back().first_step;
    ranks_.traffic().set_phase((trained_all ? updates.back() : updates.front()).phase);
    stop_agreed(ranks_);
    std::vector<RolloutRecord> local = make_records(step_, holders_.shares[ranks_.rank()], config_);
    if (!config_.rollout_replay) sample(local);
    RlStep step{.number = step_.number};
    trainer_.distribute(step, local);
    trainer_.broadcast(role_meshes_.roles_among_learners ? trainer_.learn(step) : Metrics());
  }

 private:
  StepModels counted_models(PlannedWork& work) {
    StepModels models = step_models(roles_, role_meshes_, at::kMeta, settings_.models);
    for (const RolePass& pass : settings_.forwards.passes)
      count(models.roles.at(pass.role).forward, pass.role, 1, phase_name(pass.finding), work);
    for (const RoleUpdates& update : settings_.updates) {
      ModelInStep& model = models.roles.at(update.role);
      if (!model.trained) continue;
      roles_.all.at(update.role).with_model([&](const auto& role_model) {
        const StageSplit split = role_model.parallel().stage ? role_model.parallel().stage->split() : StageSplit();
        const Recomputation& recomputes = settings_.models.trained.at(update.role).recomputes;
        const double times =
            3 + recomputes.recomputed_share(std::max<int64_t>(1, role_model.spec().num_layers / split.num_parts()));
        count(model.trained->forward, update.role, times, update.phase, work);
      });
    }
    return models;
  }

  template <class Forward>
  void count(Forward& forward, const std::string& role, double times, const std::string& phase, PlannedWork& work) {
    roles_.all.at(role).with_model([&](const auto& model) {
      count_flops(forward, model, role == kCriticRole, times, role_meshes_.of(role), phase, work);
    });
  }

  void sample(const std::vector<RolloutRecord>& local) {
    update_sampler(roles_, role_meshes_, ranks_.traffic());
    if (!role_meshes_.sampler.is_here()) return;
    Mesh& mesh = role_meshes_.sampler.mesh();
    EngineLimits limits;
    limit_cache(limits, cache_settings(config_.actor_infer.strategy_args.strategy_config), roles_.sampling_policy(),
                mesh.tp());
    ranks_.traffic().set_phase("generate");
    const int leader = role_meshes_.sampler.ranks()[mesh.world().rank() - mesh.place().tp];
    add_sampling_traffic(roles_.sampling_policy(), on_device_, mesh.tp(), step_, holders_.shares[leader]);
    RolloutStatistics statistics;
    statistics.add_counts({}, mesh);
    for (const auto& [domain, worker] : config_.rewards) statistics.add_rewards(domain, local, {}, mesh);
  }

  const Config& config_;
  const bool on_device_;
  const ThinStep& step_;
  const Distribution& holders_;
  Communicator& ranks_;
  std::ostringstream lines_;  // discarded
  Log log_;
  Meshes meshes_;
  const StepSettings settings_;
  RoleMeshes role_meshes_;
  Roles roles_;
  StepTrainer trainer_;
};

}  // namespace

std::vector<PlannedWork> run_planned_step(const SimulatedWorld& world, const ThinStep& step,
                                          const Distribution& holders) {
  std::vector<PlannedWork> works(world.ranks.running.size());
  const auto make_groups = [&, places = step_settings(world.requested).places](Communicator& requested) {
    Meshes meshes(requested);
    role_meshes(places, meshes);
  };
  const auto absent = [&](int rank, std::string_view name) -> std::string {
    if (name != FactsMessage::kMessage.name) return {};
    return encode_message(facts_message(make_records(step, holders.shares[rank], world.planned),
                                        world.planned.experience.adv_estimator->separates_rewards));
  };
  run_planned_ranks(world.ranks, make_groups, absent, [&](int rank, Communicator& ranks, RankTraffic& counted) {
    PlannedWork& work = works[std::ranges::lower_bound(world.ranks.running, rank) - world.ranks.running.begin()];
    PlannedRank planned(world, step, holders, ranks, work);
    planned.prepare();
    counted = {};
    planned.run();
    work.traffic = std::move(counted);
  });
  return works;
}

}  // namespace roll
