#include "step/step_trainer.h"

#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "model/mixture.h"
#include "records/messages.h"
#include "step/role_forwards.h"
#include "step/step_index.h"
#include "step/step_metrics.h"

namespace roll {

namespace {

EpochRule epochs_of(const TrainingSettings& settings, const ModelSpec& spec) {
  EpochRule epochs = settings.epochs;
  epochs.micro_batches = epochs.micro_batches.with(workload_of(spec));
  return epochs;
}

/// The updates of a step, and with them the learning rate and what needs old log-probs, were counted for so many.
void check_replay(const StepFacts& facts, const StepSettings& settings, int64_t step) {
  const int64_t num_groups = facts.num_sequences() / settings.group_size;
  if (num_groups != settings.num_groups)
    throw user_error("rollout_replay = {}: step {} holds {} prompts: must be rollout_batch_size = {}; set that to {}",
                     settings.replay, step, num_groups, settings.num_groups, num_groups);
}

}  // namespace

StepTrainer::StepTrainer(const StepSettings& settings, StepModels models, RoleMeshes& meshes, Log& log)
    : settings_(settings), models_(std::move(models)), meshes_(meshes), log_(log), state_(settings.experience) {
  for (const auto& update : settings.updates) {
    const std::string& role = update.role;
    const ModelInStep& model = models_.roles.at(role);
    epochs_[role] = epochs_of(update.training, model.spec);
    if (!model.trained) continue;
    trainers_.try_emplace(role, role, update.training, epochs_.at(role), models_.device, model.trained->parameters,
                          model.trained->ranks, meshes.of(role).mesh(), log);
    if (role == kPolicyRole)
      actor_loss_.emplace(update.training.loss);
    else
      critic_loss_.emplace(update.training.loss);
  }
}

Metrics StepTrainer::run(RlStep& step, std::vector<RolloutRecord>& mine, const StepHooks& hooks) {
  distribute(step, mine);
  hooks.on_distributed();
  const Metrics of_learning = meshes_.learners ? learn(step, hooks) : Metrics();
  hooks.on_learnt();
  return broadcast_metrics(meshes_.learning, of_learning);
}

void StepTrainer::distribute(RlStep& step, std::vector<RolloutRecord>& mine) {
  Communicator& world = meshes_.policy().world();
  world.traffic().set_phase("rollouts");
  StepIndex index = index_of(mine, world, settings_.experience.adv_estimator->separates_rewards);
  if (!settings_.replay.empty()) check_replay(index.facts, settings_, step.number);
  ROLL_CHECK_EQ(index.facts.num_sequences(), settings_.num_groups * settings_.group_size,
                "a step has all its responses");
  step.facts = std::move(index.facts);
  step.home = {world_groups(meshes_.policy()),
               epoch_shares(epochs_.at(kPolicyRole), step.facts.sizes(), step.number, 0)};
  const int64_t num_experts = settings_.replays_routing ? choices_per_token(models_.policy_spec()) : 0;
  step.here = redistribute(experience_of(mine, step.facts, index.holders.share_of(world.rank()), num_experts),
                           step.facts, index.holders, step.home, world);
}

/// **Collective** over the learners, which all get the metrics.
Metrics StepTrainer::learn(RlStep& step, const StepHooks& hooks) {
  Metrics metrics;
  step.home.ranks = world_groups(meshes_.learners->at(kPolicyRole));
  hooks.on_stage("forwards");
  run_forwards(step, settings_.forwards, models_, *meshes_.learners, log_, metrics);
  const Stopwatch watch;
  hooks.on_stage("advantages");
  metrics.merge(complete(step));
  metrics.add("time/advantages", watch.seconds());
  hooks.on_experience();
  hooks.on_stage("train");
  metrics.merge(train(step, hooks));
  hooks.on_trained(metrics);
  return metrics;
}

/// Token rewards, advantages and returns; the metrics of that, and of the sampler's log-probs against the actor's. The
/// actor's ranks compute.
Metrics StepTrainer::complete(RlStep& step) {
  RoleMesh& actor = meshes_.learners->at(kPolicyRole);
  Metrics of_actor;
  if (actor.is_here()) {
    Communicator& dp = actor.mesh().dp();
    Metrics gap;
    if (step.here.old_log_probs.defined()) add_sampler_gap(step.here, step.here.old_log_probs, gap);
    of_actor.merge(merge_over_ranks(gap, dp));
    Part whole(std::move(step.here), step.facts, step.home.share_of(actor.world().rank()), dp);
    of_actor.merge(complete_experience(whole, settings_.experience, settings_.num_groups, state_));
    step.here = std::move(whole.here);
  }
  if (!actor.is_everywhere())
    state_.load_state(broadcast_message(StateMessage{state_.state()}, actor, "statistics of rewards").state);
  return broadcast_metrics(actor, of_actor);
}

Metrics StepTrainer::train(const RlStep& step, const StepHooks& hooks) {
  ByRole<RoleMesh>& meshes = *meshes_.learners;
  std::vector<std::pair<RoleMesh*, Metrics>> of_roles;
  for (const RoleUpdates& update : settings_.updates) {
    if (step.number < update.first_step) continue;
    RoleMesh& mesh = meshes.at(update.role);
    mesh.world().traffic().set_phase(update.phase);
    TrainingStep wanted = training_step(step, update.role);
    Metrics& metrics = of_roles.emplace_back(&mesh, Metrics()).second;
    if (trainers_.contains(update.role)) metrics = train_role(update, std::move(wanted), hooks);
  }
  Metrics metrics;
  for (const auto& [mesh, of_role] : of_roles) metrics.merge(broadcast_metrics(*mesh, of_role));
  if (hooks.first)
    for (const RoleUpdates& update : settings_.updates) broadcast((*hooks.first)[update.role], meshes.at(update.role));
  return metrics;
}

/// The step where the role's first epoch wants it. **Collective** over the learners.
TrainingStep StepTrainer::training_step(const RlStep& step, const std::string& role) const {
  RoleMesh& mesh = meshes_.learners->at(role);
  Distribution at{world_groups(mesh), epoch_shares(epochs_.at(role), step.facts.sizes(), step.number, 0)};
  Experience here = redistribute(step.here, step.facts, step.home, at, mesh.world());
  at.ranks = mesh_groups(std::ssize(mesh.ranks()), mesh.shape());
  const auto& [folder, ending] = settings_.rollouts;
  return {.facts = step.facts,
          .number = step.number,
          .num_groups = settings_.num_groups,
          .at = std::move(at),
          .here = std::move(here),
          .rollouts = numbered(folder, "step_", step.number, ending).string()};
}

Metrics StepTrainer::train_role(const RoleUpdates& update, TrainingStep step, const StepHooks& hooks) {
  RoleTrainer& trainer = trainers_.at(update.role);
  const Trained& model = *models_.roles.at(update.role).trained;
  Prepare<Experience> prepare;
  if (update.role == kPolicyRole)
    prepare = weigh_samples(step.facts, step.here, actor_loss_->settings(), trainer.mesh().dp());
  step.empty_pass = model.empty_pass;
  step.behind_update = model.behind_update;
  return trainer.train(std::move(step), loss_of(update, hooks), hooks.first ? &(*hooks.first)[update.role] : nullptr,
                       prepare);
}

MicroBatchLoss<Experience> StepTrainer::loss_of(const RoleUpdates& update, const StepHooks& hooks) {
  return [&](const Experience& e, const MiniBatchCounts& counts) {
    const Computed computed = models_.roles.at(update.role).trained->forward(e);
    const TokenLogProbs& policy = computed.policy;
    LossResult result;
    if (computed.values.defined()) result = (*critic_loss_)(e, computed.values, counts);
    if (policy.log_probs.defined()) {
      hooks.on_log_probs(e, policy.log_probs);
      result = (*actor_loss_)(e, policy, counts);
    }
    add_router_metrics(update.metrics, policy.routers.get(), result);
    // Without a pass for old log-probs the step has one update, whose log-probs these are.
    if (policy.log_probs.defined() && !e.old_log_probs.defined())
      result.deferred.push_back({policy.log_probs.detach(), [e = e.host()](const at::Tensor& found, Metrics& metrics) {
                                   add_sampler_gap(e, found.to(at::kFloat), metrics);
                                 }});
    return result;
  };
}

Learner* StepTrainer::learner_of(const std::string& role) {
  const auto found = trainers_.find(role);
  return found == trainers_.end() ? nullptr : &found->second.learner();
}

ByRole<Learner*> StepTrainer::learners() {
  ByRole<Learner*> all;
  for (auto& [role, trainer] : trainers_) all[role] = &trainer.learner();
  return all;
}

Json StepTrainer::state() {
  Json state{
      {"experience", broadcast_message(StateMessage{state_.state()}, meshes_.learning, "statistics of rewards").state}};
  for (const RoleUpdates& update : settings_.updates) {
    Learner* const learner = learner_of(update.role);
    state[update.metrics] = broadcast_message(StateMessage{learner ? learner->state() : Json()},
                                              meshes_.of(update.role), "a learner's state")
                                .state;
  }
  return state;
}

void StepTrainer::load_state(const Json& state, const std::filesystem::path& optimizers) {
  state_.load_state(state.at("experience"));
  for (const RoleUpdates& update : settings_.updates)
    if (Learner* const learner = learner_of(update.role))
      learner->load(state.at(update.metrics), optimizers, update.metrics);
}

}  // namespace roll
