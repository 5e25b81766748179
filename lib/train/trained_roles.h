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

/// Returns one CheckpointPart (run/saver.h) for each trained role on this rank. Its functions give the weights and
/// optimizer state when a checkpoint is saved. All arguments must outlive the result. No communication.
std::vector<CheckpointPart> trained_parts(const StepSettings& settings, Roles& roles, const RoleMeshes& meshes,
                                          StepTrainer& trainer);

/// Loads state.json and the optimizers of a checkpoint. First calls restore_rest with the content of state.json, to
/// restore the other parts of the run, then trainer.load_state(). Weights are loaded by make_roles(), not here. Warns
/// if the learning rate continues differently (step/schedule_change.h). All ranks call it, without communication.
/// Throws UserError if state.json is not the state of such a run, or an optimizer's file is missing or does not fit.
void restore_checkpoint(const ResumePoint& point, const StepSettings& settings, StepTrainer& trainer,
                        const std::function<void(const Json& state)>& restore_rest, Log& log);

}  // namespace roll
