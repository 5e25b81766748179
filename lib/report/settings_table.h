// A run's configuration as a flat list, and what of it differs: from the defaults, or between runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

struct Setting {
  std::string key;  // "actor_train.training_args.learning_rate"
  std::string value;
  std::optional<std::string> default_value;  // none: the key has no default of its own, as names in a map

  bool is_changed() const { return default_value != value; }
};

/// Of config.resolved.yaml's text, in its order. UserError: it is no YAML.
std::vector<Setting> settings_of(const std::string& resolved, const std::string& origin);

/// What a key is set to; nullptr: it is not there.
const Setting* find_setting(const std::vector<Setting>& settings, const std::string& key);

/// A key that runs set differently.
struct Difference {
  std::string key;
  std::vector<std::optional<std::string>> values;  // [run]; none: the run has no such key
};
std::vector<Difference> differences(const std::vector<std::vector<Setting>>& runs);

}  // namespace roll
