// Finds the keys that differ between the configuration that a checkpoint was made with and that of the resuming run.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct ConfigChange {
  std::string key;     // "actor_train.training_args.learning_rate"
  std::string before;  // the checkpoint's value, YAML in flow style; "" if the key was absent
  std::string now;     // the resuming run's value, in the same form
};

/// Returns the differences that affect training, in the alphabetical order of keys, between the resolved_yaml() of the
/// checkpoint (`before`) and of the resuming run (`now`). Skips keys that may change freely: folders, logging, saving,
/// layouts, packing, batching, time limits and the length of the run. Throws UserError "origin:line: ..." if `before`
/// is not YAML; `origin` is the name of its file.
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& origin, const std::string& now);

}  // namespace roll
