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
    : settings_(settings),
      models_(std::move(models)),
      meshes_(meshes),
      log_(log),
      actor_epochs_(epochs_of(settings.actor, models_.policy_spec)),
      state_(settings.experience) {
  if (settings.critic) critic_epochs_ = epochs_of(*settings.critic, *models_.critic_spec);
  if (const auto& actor = models_.actor) {
    actor_.emplace("actor_train", settings.actor, actor_epochs_, models_.device, actor->parameters, actor->ranks,
                   meshes.actor.mesh(), log);
    actor_loss_.emplace(settings.actor.loss);
  }
  if (const auto& critic = models_.critic) {
    critic_.emplace("critic", *settings.critic, critic_epochs_, models_.device, critic->parameters, critic->ranks,
                    meshes.critic.mesh(), log);
    critic_loss_.emplace(settings.critic->loss);
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
  Communicator& world = meshes_.actor.world();
  world.traffic().set_phase("rollouts");
  StepIndex index = index_of(mine, world, settings_.experience.adv_estimator->separates_rewards);
  if (!settings_.replay.empty()) check_replay(index.facts, settings_, step.number);
  ROLL_CHECK_EQ(index.facts.num_sequences(), settings_.num_groups * settings_.group_size,
                "a step has all its responses");
  step.facts = std::move(index.facts);
  step.home = {world_groups(meshes_.actor), epoch_shares(actor_epochs_, step.facts.sizes(), step.number, 0)};
  const int64_t num_experts = settings_.replays_routing ? choices_per_token(models_.policy_spec) : 0;
  step.here = redistribute(experience_of(mine, step.facts, index.holders.share_of(world.rank()), num_experts),
                           step.facts, index.holders, step.home, world);
}

/// **Collective** over the learners, which all get the metrics.
Metrics StepTrainer::learn(RlStep& step, const StepHooks& hooks) {
  Metrics metrics;
  step.home.ranks = world_groups(meshes_.learners->actor);
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
  RoleMesh& actor = meshes_.learners->actor;
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
  LearnerMeshes& meshes = *meshes_.learners;
  Traffic& traffic = meshes.actor.world().traffic();
  Metrics of_critic, of_actor, metrics;
  if (settings_.critic) {
    traffic.set_phase("train_critic");
    TrainingStep wanted = training_step(step, critic_epochs_, meshes.critic);
    if (critic_) of_critic = train_critic(std::move(wanted), hooks);
  }
  if (trains_actor(step.number)) {
    traffic.set_phase("train_actor");
    TrainingStep wanted = training_step(step, actor_epochs_, meshes.actor);
    if (actor_) of_actor = train_actor(std::move(wanted), hooks);
  }
  if (settings_.critic) metrics.merge(broadcast_metrics(meshes.critic, of_critic));
  if (trains_actor(step.number)) metrics.merge(broadcast_metrics(meshes.actor, of_actor));
  if (hooks.first) {
    broadcast(hooks.first->critic, meshes.critic);
    broadcast(hooks.first->actor, meshes.actor);
  }
  return metrics;
}

/// The step where the role's first epoch wants it. **Collective** over the learners.
TrainingStep StepTrainer::training_step(const RlStep& step, const EpochRule& epochs, RoleMesh& role) const {
  Distribution at{world_groups(role), epoch_shares(epochs, step.facts.sizes(), step.number, 0)};
  Experience here = redistribute(step.here, step.facts, step.home, at, role.world());
  at.ranks = mesh_groups(std::ssize(role.ranks()), role.shape());
  const auto& [folder, ending] = settings_.rollouts;
  return {.facts = step.facts,
          .number = step.number,
          .num_groups = settings_.num_groups,
          .at = std::move(at),
          .here = std::move(here),
          .rollouts = numbered(folder, "step_", step.number, ending).string()};
}

Metrics StepTrainer::train_actor(TrainingStep step, const StepHooks& hooks) {
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const TokenLogProbs computed = models_.actor->forward(e);
    LossResult result;
    const bool is_here = computed.log_probs.defined();  // else a later stage of the pipeline has them
    if (is_here) {
      hooks.on_log_probs(e, computed.log_probs);
      result = (*actor_loss_)(e, computed, counts);
    }
    add_router_metrics("actor", computed.routers.get(), result);
    // Without a pass for old log-probs the step has one update, whose log-probs these are.
    if (is_here && !e.old_log_probs.defined())
      result.deferred.push_back(
          {computed.log_probs.detach(), [e = e.host()](const at::Tensor& found, Metrics& metrics) {
             add_sampler_gap(e, found.to(at::kFloat), metrics);
           }});
    return result;
  };
  const auto prepare = weigh_samples(step.facts, step.here, actor_loss_->settings(), actor_->mesh().dp());
  step.empty_pass = models_.actor->empty_pass;
  step.behind_update = models_.actor->behind_update;
  return actor_->train(std::move(step), loss, hooks.first ? &hooks.first->actor : nullptr, prepare);
}

Metrics StepTrainer::train_critic(TrainingStep step, const StepHooks& hooks) {
  const auto loss = [&](const Experience& e, const MiniBatchCounts& counts) {
    const at::Tensor values = models_.critic->forward(e);
    return values.defined() ? (*critic_loss_)(e, values, counts) : LossResult();
  };
  step.empty_pass = models_.critic->empty_pass;
  return critic_->train(std::move(step), loss, hooks.first ? &hooks.first->critic : nullptr);
}

Json StepTrainer::state() {
  const auto learner_state = [](RoleMesh& role, Learner* learner) {
    return broadcast_message(StateMessage{learner ? learner->state() : Json()}, role, "a learner's state").state;
  };
  Json state{
      {"experience", broadcast_message(StateMessage{state_.state()}, meshes_.learning, "statistics of rewards").state},
      {"actor", learner_state(meshes_.actor, actor())}};
  if (settings_.critic) state["critic"] = learner_state(meshes_.critic, critic());
  return state;
}

void StepTrainer::load_state(const Json& state, const std::filesystem::path& optimizers) {
  state_.load_state(state.at("experience"));
  if (actor_) actor()->load(state.at("actor"), optimizers, "actor");
  if (critic_) critic()->load(state.at("critic"), optimizers, "critic");
}

}  // namespace roll
