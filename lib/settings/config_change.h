// Finds the keys that differ between a checkpoint's configuration and the resuming run's.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct ConfigChange {
  std::string key;     // "actor_train.training_args.learning_rate"
  std::string before;  // YAML in flow style; "" if the key was absent
  std::string now;
};

/// Returns the differences of two resolved_yaml() that affect training, in key order. Skips keys that may change
/// freely: folders, logging, saving, layouts, packing, batching, time limits and the length of the run. UserError:
/// `before` is no YAML ("origin:line: ...").
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& origin, const std::string& now);

}  // namespace roll
