// A step after sampling: what all ranks know of it, and on each rank the sequences that the actor trains on there in
// the step's first epoch (home), with all that is computed of them.
#pragma once

#include <optional>

#include "experience/build.h"
#include "records/rollout_record.h"
#include "step/learners.h"
#include "step/ppo.h"
#include "step/redistribution.h"
#include "step/roles.h"

namespace roll {

struct RlStep {
  int64_t number = 0;
  StepFacts facts;
  Distribution home;  // ranks of the world, and among learners once these go on with it
  Experience here;
};

/// `mine`: the records of this rank, sampled or read; sorted. **Collective** over the world. UserError: index_of()'s.
RlStep distribute_step(std::vector<RolloutRecord>& mine, int64_t number, const Config& config, const ModelSpec& policy,
                       RoleMesh& actor);

/// Token rewards, advantages and returns, and `state` one step on; the metrics of that, and of the sampler's log-probs
/// against the actor's. **Collective** over the learners, of which the actor's ranks compute.
Metrics complete_step(RlStep& step, const Config& config, ExperienceState& state, RoleMesh& actor);

/// The step where the role's first epoch wants it. **Collective** over the learners.
TrainingStep training_step(const RlStep& step, const Config& config, const WorkerConfig& worker, const ModelSpec& spec,
                           RoleMesh& role);

/// What trains the models of this rank.
struct Trainers {
  std::optional<ActorTrainer>& actor;
  std::optional<CriticTrainer>& critic;
};
/// The critic's updates, where there is one, then the actor's, once critic_warmup is over. What the first ones did goes
/// to `first`, where given. Metrics of both, which all learners get. **Collective** over these.
struct FirstOfRoles {
  FirstUpdates critic, actor;
};
Metrics train_roles(const RlStep& step, const Config& config, const Roles& roles, const LearnerMeshes& meshes,
                    Trainers trainers, FirstOfRoles* first, TokenSamples& samples);

/// The whole step on the first of the learners, for people who look into it. **Collective** over these.
Experience whole_on_first(const RlStep& step, Communicator& learners);

}  // namespace roll
