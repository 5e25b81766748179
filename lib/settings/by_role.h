// Maps from a role's key to its data, and the roles' names. Memory estimates, checks and the training step use them.
#pragma once

#include <map>
#include <string>

#include "model/spec.h"

namespace roll {

/// Keys are "actor_train", "critic", "reference", "teacher.math", "rewards.math".
template <class T>
using ByRole = std::map<std::string, T>;

inline constexpr const char *kPolicyRole = "actor_train", *kCriticRole = "critic", *kReferenceRole = "reference";

/// Returns true if the role is trained; all other roles' models are frozen.
inline bool is_trained(const std::string& role) {
  return role == kPolicyRole || role == kCriticRole;
}

/// The shapes of a run's models, as far as they are known.
using RoleShapes = ByRole<ModelSpec>;

inline const ModelSpec& policy_shape(const RoleShapes& shapes) {
  return shapes.at(kPolicyRole);
}

/// Returns the role's model shape. If it is unknown, returns the policy's without adapters.
inline ModelSpec shape_of_role(const RoleShapes& shapes, const std::string& role) {
  if (const auto found = shapes.find(role); found != shapes.end()) return found->second;
  ModelSpec plain = policy_shape(shapes);
  plain.lora.reset();
  return plain;
}

}  // namespace roll
