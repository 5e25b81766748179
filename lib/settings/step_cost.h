// Estimates the FLOPs of a training step of `roll train` from the configuration and the models' shapes.
#pragma once

#include <string>

#include "settings/memory_estimate.h"

namespace roll {

/// Cost of a step in which every sequence has full length, over all ranks. Models that judge responses are not counted.
/// All members but `tokens` are floating-point operations (a multiply-add is two).
struct StepCost {
  double tokens = 0;    // tokens of all prompts and responses
  double sampling = 0;  // upper bound: ignores prefix sharing
  double forwards = 0;  // passes for log-probs (old, reference, teachers) and values
  double training = 0;  // forward, backward (twice the forward), recomputation and Muon, in all updates

  double total() const { return sampling + forwards + training; }
};

/// Returns the cost for models of these shapes; `models` must have the policy's. The critic is left out if it is not in
/// `models`; other roles that are not in it count like the policy.
StepCost step_cost(const Config& config, const RoleShapes& models);

/// Returns the FLOPs of Muon in one update of a trained role, over all ranks; 0 with AdamW, which takes hardly any.
double muon_flops(const WorkerConfig& worker, const ModelSpec& spec);

/// Returns "a step of full-length sequences: 786432 tokens, 1.23 PFLOP (sampling 0.30, ...)".
std::string cost_text(const StepCost& cost);

}  // namespace roll
