#include "train/trained_roles.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "step/schedule_change.h"

namespace roll {

std::vector<CheckpointPart> trained_parts(const StepSettings& settings, Roles& roles, const RoleMeshes& meshes,
                                          StepTrainer& trainer) {
  std::vector<CheckpointPart> parts;
  for (const RoleUpdates& update : settings.updates)
    if (Learner* const learner = trainer.find_learner(update.role))
      roles.all.at(update.role).with_model([&](const auto& model) {
        parts.push_back(checkpoint_part(update.metrics, model, meshes.of(update.role).mesh(),
                                        [learner] { return learner->optimizer_shard(); }));
      });
  return parts;
}

void restore_checkpoint(const ResumePoint& point, const StepSettings& settings, StepTrainer& trainer,
                        const std::function<void(const Json& state)>& restore_rest, Log& log) {
  const std::filesystem::path file = point.folder / "state.json";
  const Json state = read_json(file);
  try {
    restore_rest(state);
    trainer.load_state(state, point.folder / "optimizer");
    for (const RoleUpdates& update : settings.updates)
      if (log.is_first())
        log_schedule_change(update.training.key, state.at(update.metrics), update.training.learner.schedule, log);
  } catch (const nlohmann::json::exception& error) {
    throw user_error("{}: is not the saved state of a run of this kind: {}", file.string(), error.what());
  }
}

}  // namespace roll
