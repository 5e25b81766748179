// A training step after sampling, as StepTrainer (step_trainer.h) passes it from stage to stage.
#pragma once

#include <functional>
#include <string>

#include "experience/experience.h"
#include "step/redistribution.h"

namespace roll {

/// Every rank has this struct; only `experience` differs between ranks. Learners are the ranks that train or run
/// forwards for training (role_meshes.h).
struct RlStep {
  int64_t number = 0;  // 1, 2, ...
  StepFacts facts{};   // facts of all sequences, on all ranks
  /// Home of the sequences: the ranks of the policy that train on them in the first epoch. In world ranks at first;
  /// from StepTrainer::run_passes() on, in ranks of the learners' communicator.
  Distribution home{};
  Experience experience{};  // sequences whose home is this rank, in the order of home.rank_share(), with all results
  /// Returns the name of the file from which the step's updates can be replayed, for messages; may be null.
  std::function<std::string()> source{};
};

}  // namespace roll
