// Converts verl's on-policy distillation, for verl.cpp.
#pragma once

#include "convert/table.h"

/// ForeignRow entries (table.h) of verl's distillation keys.
#define VERL_DISTILLATION_ROWS                                                                                      \
  {"distillation.enabled", Fate::kCombined, "", "false"},                                                           \
      {"distillation.distillation_loss.loss_mode", Fate::kCombined, "", "k3"},                                      \
      {"distillation.distillation_loss.use_policy_gradient", Fate::kCombined, "", "false"},                         \
      {"distillation.distillation_loss.use_task_rewards", Fate::kCombined, "", "true"},                             \
      {"distillation.distillation_loss.distillation_loss_coef", Fate::kCombined, "", "1.0"},                        \
      {"distillation.distillation_loss.loss_max_clamp", Fate::kCombined},                                           \
      {"distillation.distillation_loss.policy_loss_mode", Fate::kCombined, "", "vanilla"},                          \
      {"distillation.distillation_loss.topk", Fate::kNothing, "only for losses over several tokens"},               \
      {"distillation.distillation_loss.log_prob_min_clamp", Fate::kNothing, "only for losses over several tokens"}, \
      {"distillation.distillation_loss.clip_ratio*", Fate::kNothing, "a step makes one update, whose ratio is 1"},  \
      {"distillation.teacher_models.*", Fate::kCombined},                                                           \
      {"distillation.n_gpus_per_node", Fate::kNothing, "the teacher is on the policy's ranks"},                     \
      {"distillation.nnodes", Fate::kNothing, "the teacher is on the policy's ranks"}, {                            \
    "distillation.*", Fate::kUnsupported                                                                            \
  }

namespace roll {

/// Sets distillation from a teacher if distillation.enabled is true. Call it after everything else but before
/// set_roles(). Throws UserError if roll has no such loss.
void combine_verl_distillation(Conversion& c);

}  // namespace roll
