#include "step/rl_step.h"

#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "dist/merged_metrics.h"
#include "dist/messages.h"
#include "records/messages.h"
#include "step/advantage_stage.h"
#include "step/step_index.h"

namespace roll {

namespace {

/// The updates of a step, and with them the learning rate and what needs old log-probs, were counted for so many.
void check_replay(const StepFacts& facts, const Config& config, int64_t step) {
  const int64_t num_groups = facts.num_sequences() / config.num_return_sequences_in_group;
  if (num_groups != config.rollout_batch_size)
    throw user_error("rollout_replay = {}: step {} holds {} prompts: must be rollout_batch_size = {}; set that to {}",
                     *config.rollout_replay, step, num_groups, config.rollout_batch_size, num_groups);
}

}  // namespace

RlStep distribute_step(std::vector<RolloutRecord>& mine, int64_t number, const Config& config, const ModelSpec& policy,
                       RoleMesh& actor) {
  Communicator& world = actor.world();
  world.traffic().set_phase("rollouts");
  StepIndex index = index_of(mine, world);
  if (config.rollout_replay) check_replay(index.facts, config, number);
  ROLL_CHECK_EQ(index.facts.num_sequences(), config.sequences_per_step(), "a step has all its responses");
  RlStep step{.number = number, .facts = std::move(index.facts), .home = {}, .here = {}};
  step.home = {world_groups(actor), epoch_shares(config, config.actor_train, policy, step.facts.lengths(), number, 0)};
  step.here = redistribute(experience_of(mine, step.facts, index.holders.share_of(world.rank())), step.facts,
                           index.holders, step.home, world);
  return step;
}

Metrics complete_step(RlStep& step, const Config& config, ExperienceState& state, RoleMesh& actor) {
  Metrics of_actor;
  if (actor.is_here()) {
    Communicator& dp = actor.mesh().dp();
    Metrics gap;
    if (step.here.old_log_probs.defined()) add_sampler_gap(step.here, step.here.old_log_probs, gap);
    of_actor.merge(merge_over_ranks(gap, dp));
    Part whole(std::move(step.here), step.facts, step.home.share_of(actor.world().rank()), dp);
    of_actor.merge(complete_experience(whole, config.experience, config.rollout_batch_size, state));
    step.here = std::move(whole.here);
  }
  if (!actor.is_everywhere())
    state.load_state(broadcast_message(StateMessage{state.state()}, actor, "statistics of rewards").state);
  return broadcast_metrics(actor, of_actor);
}

TrainingStep training_step(const RlStep& step, const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                           RoleMesh& role) {
  Distribution at{world_groups(role), epoch_shares(config, worker, spec, step.facts.lengths(), step.number, 0)};
  Experience here = redistribute(step.here, step.facts, step.home, at, role.world());
  at.ranks = mesh_groups(std::ssize(role.ranks()), role.shape());
  return {.facts = step.facts,
          .number = step.number,
          .num_groups = config.rollout_batch_size,
          .at = std::move(at),
          .here = std::move(here)};
}

Metrics train_roles(const RlStep& step, const Config& config, const Roles& roles, const LearnerMeshes& meshes,
                    Trainers trainers, FirstOfRoles* first, TokenSamples& samples) {
  Traffic& traffic = meshes.actor.world().traffic();
  const bool trains_actor = step.number > config.critic_warmup;
  Metrics of_critic, of_actor, metrics;
  if (config.uses_critic()) {
    traffic.set_phase("train_critic");
    auto wanted = training_step(step, config, config.critic, *roles.critic_spec, meshes.critic);
    if (trainers.critic) of_critic = trainers.critic->train(std::move(wanted), first ? &first->critic : nullptr);
  }
  if (trains_actor) {
    traffic.set_phase("train_actor");
    auto wanted = training_step(step, config, config.actor_train, roles.policy_spec, meshes.actor);
    if (trainers.actor) of_actor = trainers.actor->train(std::move(wanted), first ? &first->actor : nullptr, samples);
  }
  if (config.uses_critic()) metrics.merge(broadcast_metrics(meshes.critic, of_critic));
  if (trains_actor) metrics.merge(broadcast_metrics(meshes.actor, of_actor));
  return metrics;
}

Experience whole_on_first(const RlStep& step, Communicator& learners) {
  std::vector<int64_t> all(step.facts.num_sequences());
  std::iota(all.begin(), all.end(), 0);
  return redistribute(step.here, step.facts, step.home, {{{0}}, {all}}, learners);
}

}  // namespace roll
