// Names of roles, and maps with an entry per role, for memory estimates, checks and the training step. A role is one
// use of a model in a run, named by its configuration key.
#pragma once

#include <map>
#include <string>

#include "model/spec.h"

namespace roll {

/// An entry per role; the keys are roles: "actor_train", "critic", "reference", "teacher.math", "rewards.math".
template <class T>
using ByRole = std::map<std::string, T>;

inline constexpr const char *kPolicyRole = "actor_train", *kCriticRole = "critic", *kReferenceRole = "reference";

/// The shapes of a run's models, as far as they are known.
using RoleShapes = ByRole<ModelSpec>;

/// Returns the policy's shape, which must be in `shapes`.
inline const ModelSpec& policy_shape(const RoleShapes& shapes) {
  return shapes.at(kPolicyRole);
}

/// Returns the shape of the role's model; for a role that `shapes` does not have, the policy's shape without adapters.
inline ModelSpec shape_of_role(const RoleShapes& shapes, const std::string& role) {
  if (const auto found = shapes.find(role); found != shapes.end()) return found->second;
  ModelSpec plain = policy_shape(shapes);
  plain.lora.reset();
  return plain;
}

}  // namespace roll
