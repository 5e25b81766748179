// What a step computes at most, before anything is loaded.
#pragma once

#include <string>

#include "settings/memory_estimate.h"

namespace roll {

/// Floating-point operations (a multiply-add is two) of all ranks together, were every sequence as long as it may be.
/// Judging models are left out.
struct StepCost {
  double tokens = 0;    // of prompts and responses
  double sampling = 0;  // each prompt for itself; samples of a prompt share it, so it is less
  double forwards = 0;  // old, reference and teachers' log-probs, values
  double training = 0;  // forward, twice that backward, and what recomputation adds

  double total() const { return sampling + forwards + training; }
};

StepCost step_cost(const Config& config, const RoleShapes& models);

/// "a step of full length: 786432 tokens, 1.23 PFLOP (sampling 0.30, ...)".
std::string cost_text(const StepCost& cost);

}  // namespace roll
