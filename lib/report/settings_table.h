// A run's configuration as a flat list, and its differences from the defaults or between runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

/// A configuration key with its value and default.
struct Setting {
  std::string key;  // "actor_train.training_args.learning_rate"
  std::string value;
  std::optional<std::string> default_value;  // unset: no default, e.g. for user-chosen names

  bool is_changed() const { return default_value != value; }
};

/// Flattens the text of config.resolved.yaml, in file order. UserError: it is no valid YAML.
std::vector<Setting> read_settings(const std::string& resolved, const std::string& origin);

/// Returns the setting of a key; nullptr if absent.
const Setting* find_setting(const std::vector<Setting>& settings, const std::string& key);

/// A key with different values in several runs.
struct Difference {
  std::string key;
  std::vector<std::optional<std::string>> values;  // [run]; unset: the run lacks the key
};
/// Returns the keys whose values are not equal in all runs, ordered by first occurrence.
std::vector<Difference> differences(const std::vector<std::vector<Setting>>& runs);

}  // namespace roll
