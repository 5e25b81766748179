// Estimates the FLOPs of a training step, before anything is loaded.
#pragma once

#include <string>

#include "settings/memory_estimate.h"

namespace roll {

/// Floating-point operations (a multiply-add is two) of all ranks together if every sequence has full length, without
/// judging models.
struct StepCost {
  double tokens = 0;    // prompts and responses
  double sampling = 0;  // upper bound: ignores prefix sharing
  double forwards = 0;  // log-probs (old, reference, teachers) and values
  double training = 0;  // forward, backward (twice that) and recomputation

  double total() const { return sampling + forwards + training; }
};

StepCost step_cost(const Config& config, const RoleShapes& models);

/// Returns "a step of full-length sequences: 786432 tokens, 1.23 PFLOP (sampling 0.30, ...)".
std::string cost_text(const StepCost& cost);

}  // namespace roll
