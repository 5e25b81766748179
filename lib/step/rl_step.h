// Step after sampling: facts that all ranks know, and on each rank the sequences that the actor trains on there in the
// first epoch (home), with everything computed for them.
#pragma once

#include <functional>
#include <string>

#include "experience/experience.h"
#include "step/redistribution.h"

namespace roll {

struct RlStep {
  int64_t number = 0;
  StepFacts facts{};
  Distribution home{};                    // world ranks, or learners' ranks while the learners work on the step
  Experience experience{};                // this rank's sequences, distributed as `home` says
  std::function<std::string()> source{};  // names the file from which the step's updates can be replayed
};

}  // namespace roll
