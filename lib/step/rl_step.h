// A training step after sampling, as StepTrainer (step_trainer.h) passes it from stage to stage.
#pragma once

#include <functional>
#include <string>

#include "experience/experience.h"
#include "step/redistribution.h"

namespace roll {

/// Data of a step on one rank. Only `experience` differs between ranks. Learners are the ranks that train or run
/// forwards for training (role_meshes.h).
struct RlStep {
  int64_t number = 0;  // 1, 2, ...
  StepFacts facts{};   // lengths, scores, domains, ... of all sequences (experience/response_facts.h), on all ranks
  /// Ranks that hold each sequence between the stages: the policy's ranks that train on it in the first epoch. They are
  /// world ranks at first; StepTrainer::run_passes() changes them to ranks of the learners' communicator.
  Distribution home{};
  Experience experience{};  // this rank's sequences in the order of home.rank_share(), with all results so far
  /// Returns the name of the file that lists the step's responses or rows, for messages; may write that file. Null:
  /// none.
  std::function<std::string()> source{};
};

}  // namespace roll
