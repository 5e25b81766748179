// What differs between the configuration that a checkpoint was made with and the one that goes on with it.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct ConfigChange {
  std::string key;     // "actor_train.training_args.learning_rate"
  std::string before;  // as YAML's flow style shows it; "" where the key was not there
  std::string now;
};

/// Differences of two resolved_yaml() that change what is trained, in the order of the keys. Keys that only say where
/// and how the same numbers come about, or what is shown and kept, may differ freely: folders, logging, saving,
/// layouts, packing, batching, time limits; and how long the run goes on. UserError: `before` is no YAML
/// ("origin:line: ...").
std::vector<ConfigChange> config_changes(const std::string& before, const std::string& origin, const std::string& now);

}  // namespace roll
