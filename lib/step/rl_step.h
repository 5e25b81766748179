// A step after sampling: what all ranks know of it, and on each rank the sequences that the actor trains on there in
// the step's first epoch (home), with all that is computed of them.
#pragma once

#include <functional>
#include <string>

#include "experience/experience.h"
#include "step/redistribution.h"

namespace roll {

struct RlStep {
  int64_t number = 0;
  StepFacts facts{};
  Distribution home{};  // ranks of the world, and among learners once these go on with it
  Experience here{};
  std::function<std::string()> source{};  // names the file from which it can be made again
};

}  // namespace roll
