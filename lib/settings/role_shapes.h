// The shapes of a run's models, as far as they are known.
#pragma once

#include <map>
#include <string>

#include "model/spec.h"

namespace roll {

/// By role: "actor_train", "critic", "reference", "teacher.math", "rewards.math".
using RoleShapes = std::map<std::string, ModelSpec>;

inline const ModelSpec& policy_shape(const RoleShapes& shapes) {
  return shapes.at("actor_train");
}

/// Of any role; where nothing is known of it, the policy's without adapters.
inline ModelSpec shape_of_role(const RoleShapes& shapes, const std::string& role) {
  if (const auto found = shapes.find(role); found != shapes.end()) return found->second;
  ModelSpec plain = policy_shape(shapes);
  plain.lora.reset();
  return plain;
}

}  // namespace roll
