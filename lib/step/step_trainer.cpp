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

EpochRule make_epochs(const TrainingSettings& settings, const ModelSpec& spec) {
  EpochRule epochs = settings.epochs;
  epochs.micro_batches = epochs.micro_batches.with(make_workload(spec));
  return epochs;
}

/// UserError: the replayed step's size differs from the one that the learning rate and number of updates assume.
void check_replay(const StepFacts& facts, const StepSettings& settings, int64_t step) {
  const int64_t num_groups = facts.num_sequences() / settings.group_size;
  if (num_groups != settings.num_groups)
    throw user_error("rollout_replay = {}: step {} holds {} prompts: must be rollout_batch_size = {}; set that to {}",
                     settings.replay, step, num_groups, settings.num_groups, num_groups);
}

}  // namespace

ByRole<RoleLoss> role_losses(const StepSettings& settings) {
  ByRole<RoleLoss> losses;
  for (const RoleUpdates& update : settings.updates)
    losses[update.role] = make_configured_loss(update.role, update.training.loss);
  return losses;
}

StepTrainer::StepTrainer(const StepSettings& settings, StepModels models, ByRole<RoleLoss> losses, RoleMeshes& meshes,
                         Log& log)
    : settings_(settings),
      models_(std::move(models)),
      losses_(std::move(losses)),
      meshes_(meshes),
      log_(log),
      state_(settings.experience) {
  for (const auto& update : settings.updates) {
    const std::string& role = update.role;
    const ModelInStep& model = models_.roles.at(role);
    epochs_[role] = make_epochs(update.training, model.spec);
    if (!model.trained) continue;
    trainers_.try_emplace(role, update.training, epochs_.at(role), models_.device, model.trained->parameters,
                          model.trained->ranks, meshes.of(role).mesh(), log);
    if (model.trained->use_store) model.trained->use_store(trainers_.at(role).learner().layer_store());
  }
}

void StepTrainer::distribute(RlStep& step, std::vector<RolloutRecord>& local) {
  Communicator& world = meshes_.policy().world();
  world.traffic().set_phase("rollouts");
  StepIndex index = make_step_index(local, world, settings_.experience.adv_estimator->separates_rewards);
  if (!settings_.replay.empty()) check_replay(index.facts, settings_, step.number);
  ROLL_CHECK_EQ(index.facts.num_sequences(), settings_.num_groups * settings_.group_size,
                "a step has all its responses");
  step.facts = std::move(index.facts);
  step.home = plan_home(step.facts, step.number);
  const int64_t num_experts = settings_.replays_routing ? choices_per_token(models_.policy_spec()) : 0;
  step.experience =
      redistribute(make_experience(local, step.facts, index.holders.rank_share(world.rank()), num_experts), step.facts,
                   index.holders, step.home, world);
  step.source = [&files = settings_.rollouts, number = step.number] {
    return numbered(files.folder, "step_", number, files.ending).string();
  };
}

Distribution StepTrainer::plan_home(const StepFacts& facts, int64_t number) const {
  return {world_groups(meshes_.policy()), epoch_shares(epochs_.at(kPolicyRole), facts.sizes(), number, 0)};
}

Metrics StepTrainer::learn(RlStep& step, const UpdateViews& views) {
  Metrics metrics = run_passes(step);
  metrics.merge(add_advantages(step));
  metrics.merge(update(step, views));
  return metrics;
}

Metrics StepTrainer::run_passes(RlStep& step, const ForwardSettings& passes) {
  step.home.ranks = world_groups(meshes_.roles_among_learners->at(kPolicyRole));
  Metrics metrics;
  run_forwards(step, passes, models_, *meshes_.roles_among_learners, log_, metrics);
  return metrics;
}

Metrics StepTrainer::add_advantages(RlStep& step) {
  Metrics metrics;
  if (!settings_.has_advantages) return metrics;
  const Stopwatch watch;
  metrics.merge(complete(step));
  metrics.add("time/advantages", watch.seconds());
  return metrics;
}

/// Completes the experience on the actor's ranks and broadcasts the metrics.
Metrics StepTrainer::complete(RlStep& step) {
  RoleMesh& actor = meshes_.roles_among_learners->at(kPolicyRole);
  Metrics actor_metrics;
  if (actor.is_here()) {
    Communicator& dp = actor.mesh().dp();
    Metrics gap;
    if (step.experience.old_log_probs.defined()) add_sampler_gap(step.experience, step.experience.old_log_probs, gap);
    actor_metrics.merge(merge_over_ranks(gap, dp));
    Part whole(std::move(step.experience), step.facts, step.home.rank_share(actor.world().rank()), dp);
    actor_metrics.merge(complete_experience(whole, settings_.experience, settings_.num_groups, state_));
    step.experience = std::move(whole.experience);
  }
  if (!actor.is_everywhere())
    state_.load_state(broadcast_message(StateMessage{state_.state()}, actor, "statistics of rewards").state);
  return broadcast_metrics(actor, actor_metrics);
}

Metrics StepTrainer::update(const RlStep& step, const UpdateViews& views) {
  ByRole<RoleMesh>& meshes = *meshes_.roles_among_learners;
  std::vector<std::pair<RoleMesh*, Metrics>> role_updates;
  for (const RoleUpdates& update : settings_.updates) {
    if (step.number < update.first_step) continue;
    RoleMesh& mesh = meshes.at(update.role);
    mesh.world().traffic().set_phase(update.phase);
    TrainingStep role_step = training_step(step, update.role);
    Metrics& metrics = role_updates.emplace_back(&mesh, Metrics()).second;
    if (trainers_.contains(update.role)) metrics = train_role(update, std::move(role_step), views);
  }
  Metrics metrics;
  for (const auto& [mesh, role_metrics] : role_updates) metrics.merge(broadcast_metrics(*mesh, role_metrics));
  if (views.first)
    for (const RoleUpdates& update : settings_.updates)
      roll::broadcast((*views.first)[update.role], meshes.at(update.role));
  return metrics;
}

/// Returns the step in the distribution of the role's first epoch. **Collective** over the learners.
TrainingStep StepTrainer::training_step(const RlStep& step, const std::string& role) const {
  RoleMesh& mesh = meshes_.roles_among_learners->at(role);
  Distribution distribution{world_groups(mesh), epoch_shares(epochs_.at(role), step.facts.sizes(), step.number, 0)};
  Experience experience = redistribute(step.experience, step.facts, step.home, distribution, mesh.world());
  if (role != kPolicyRole) experience.tokens.routed_experts.reset();  // other models' own routers choose
  distribution.ranks = mesh_groups(std::ssize(mesh.ranks()), mesh.shape());
  return {.facts = step.facts,
          .number = step.number,
          .num_groups = settings_.num_groups,
          .distribution = std::move(distribution),
          .experience = std::move(experience),
          .source = step.source};
}

Metrics StepTrainer::train_role(const RoleUpdates& update, TrainingStep step, const UpdateViews& views) {
  RoleTrainer& trainer = trainers_.at(update.role);
  const Trained& model = *models_.roles.at(update.role).trained;
  Prepare prepare;
  if (update.role == kPolicyRole)
    prepare = weigh_samples(step.facts, step.experience, update.training.loss.built_in, trainer.mesh().dp());
  step.empty_pass = model.empty_pass;
  step.after_update = model.after_update;
  return trainer.train(std::move(step), make_loss(update, views), views.first ? &(*views.first)[update.role] : nullptr,
                       prepare);
}

MicroBatchLoss StepTrainer::make_loss(const RoleUpdates& update, const UpdateViews& views) {
  return [&](const Experience& e, const MiniBatchCounts& counts) {
    const Computed computed = models_.roles.at(update.role).trained->forward(e);
    const TokenLogProbs& policy = computed.policy;
    const bool has_policy = update.role == kPolicyRole && policy.log_probs.defined();
    if (has_policy && views.on_log_probs) views.on_log_probs(e, policy.log_probs);
    LossResult result;
    if (computed.is_here()) result = losses_.at(update.role)(e, computed, counts);
    const UpdateSettings& updates = update.training.updates;
    if (policy.mtp_log_probs.defined())
      add_mtp_loss(updates.prefix, policy, settings_.models.trained.at(update.role).mtp_loss_coef,
                   counts.at(settings_.models.learnt_mask).batch_num_tokens, result);
    add_router_metrics(updates.prefix, policy.routers.get(), result);
    // Without a pass for old log-probs there is one update, whose log-probs are the old ones.
    if (has_policy && !e.old_log_probs.defined() && e.sampler_log_probs.defined())
      result.deferred.push_back({policy.log_probs.detach(), [e = e.host()](const at::Tensor& found, Metrics& metrics) {
                                   add_sampler_gap(e, found.to(at::kFloat), metrics);
                                 }});
    return result;
  };
}

Learner* StepTrainer::find_learner(const std::string& role) {
  const auto found = trainers_.find(role);
  return found == trainers_.end() ? nullptr : &found->second.learner();
}

ByRole<Learner*> StepTrainer::learners() {
  ByRole<Learner*> learner_by_role;
  for (auto& [role, trainer] : trainers_) learner_by_role[role] = &trainer.learner();
  return learner_by_role;
}

Json StepTrainer::state() {
  Json state = Json::object();
  if (settings_.has_advantages)
    state["experience"] =
        broadcast_message(StateMessage{state_.state()}, meshes_.learner_mesh, "statistics of rewards").state;
  for (const RoleUpdates& update : settings_.updates) {
    Learner* const learner = find_learner(update.role);
    state[update.metrics] = broadcast_message(StateMessage{learner ? learner->state() : Json()},
                                              meshes_.of(update.role), "a learner's state")
                                .state;
  }
  return state;
}

void StepTrainer::load_state(const Json& state, const std::filesystem::path& optimizers) {
  if (settings_.has_advantages) state_.load_state(state.at("experience"));
  for (const RoleUpdates& update : settings_.updates)
    if (Learner* const learner = find_learner(update.role))
      learner->load(state.at(update.metrics), optimizers, update.metrics);
}

}  // namespace roll
