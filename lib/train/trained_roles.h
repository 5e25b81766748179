// What a checkpoint keeps of the roles that a run trains.
#pragma once

#include <functional>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "run/run.h"
#include "step/roles.h"
#include "step/step_trainer.h"

namespace roll {

/// Weights and optimizers. The references must outlive what is given back.
std::vector<CheckpointPart> trained_parts(const StepSettings& settings, Roles& roles, const RoleMeshes& meshes,
                                          StepTrainer& trainer);

/// Loads a checkpoint's state into `trainer`, and warns where the learning rate's schedule has changed. `take_rest` is
/// called first, with the whole state. **Collective**. UserError: the file is not the state of such a run; see
/// Learner::load.
void take_up(const ResumePoint& point, const StepSettings& settings, StepTrainer& trainer,
             const std::function<void(const Json& state)>& take_rest, Log& log);

}  // namespace roll
