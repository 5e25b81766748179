// Reads a run's configuration as a flat list, and finds differences from the defaults and between runs, for `roll
// report`.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace roll {

/// A configuration key with its value and default.
struct Setting {
  std::string key;                           // "actor_train.training_args.learning_rate"
  std::string value;                         // YAML text without quotes
  std::optional<std::string> default_value;  // nullopt: the key has no default, e.g. because users choose its name

  /// Returns true if the value differs from the default, or there is no default.
  bool is_changed() const { return default_value != value; }
};

/// Parses the text of config.resolved.yaml, which lists every key, in file order. `origin` is the file's name in
/// messages. Throws UserError if it is not valid YAML.
std::vector<Setting> read_settings(const std::string& resolved, const std::string& origin);

/// Returns the setting with exactly this key; nullptr if absent.
const Setting* find_setting(const std::vector<Setting>& settings, const std::string& key);

/// A key with different values in several runs.
struct Difference {
  std::string key;
  std::vector<std::optional<std::string>> values;  // [number of runs]; nullopt: the run lacks the key
};
/// Returns the keys whose values are not equal in all runs, ordered by first occurrence.
std::vector<Difference> differences(const std::vector<std::vector<Setting>>& runs);

}  // namespace roll
