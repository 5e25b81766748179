// Saves and restores the trained roles of a run in checkpoints.
#pragma once

#include <functional>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "run/run.h"
#include "step/roles.h"
#include "step/step_trainer.h"

namespace roll {

/// Returns the weights and optimizers to save. The references must outlive the result.
std::vector<CheckpointPart> trained_parts(const StepSettings& settings, Roles& roles, const RoleMeshes& meshes,
                                          StepTrainer& trainer);

/// Loads a checkpoint's state into `trainer` and warns if the learning rate's schedule has changed. First calls
/// `restore_rest` with the whole state. **Collective**. UserError: the file is no state of such a run; see
/// Learner::load.
void restore_checkpoint(const ResumePoint& point, const StepSettings& settings, StepTrainer& trainer,
                        const std::function<void(const Json& state)>& restore_rest, Log& log);

}  // namespace roll
