// Saves and restores the trained roles of a run (policy, critic) in checkpoints. Used by rlvr.cpp and row_training.cpp.
#pragma once

#include <functional>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "run/run.h"
#include "step/roles.h"
#include "step/step_trainer.h"

namespace roll {

/// Returns the weights and optimizer states on this rank to save in a checkpoint, a part per trained role; none on
/// ranks without a trained role. All arguments must outlive the result.
std::vector<CheckpointPart> trained_parts(const StepSettings& settings, Roles& roles, const RoleMeshes& meshes,
                                          StepTrainer& trainer);

/// Loads the state in a checkpoint, state.json, and the optimizers: first calls restore_rest with the whole state,
/// which restores the other parts of the run, then trainer.load_state(). Weights are not loaded here. Warns if the
/// learning rate continues differently. To be called on all ranks. Throws UserError if state.json is not the state of
/// such a run, or an optimizer's file is missing or does not fit.
void restore_checkpoint(const ResumePoint& point, const StepSettings& settings, StepTrainer& trainer,
                        const std::function<void(const Json& state)>& restore_rest, Log& log);

}  // namespace roll
