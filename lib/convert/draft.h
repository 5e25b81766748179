// Draft of a roll configuration for the converters: keys with values, and the origin of each.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct DraftKey {
  std::string path;    // "actor_train.training_args.learning_rate"
  std::string value;   // YAML, or plain text
  std::string origin;  // for the comment next to it
};

class Draft {
 public:
  /// Sets a key. Setting it again replaces the value but keeps its position.
  void set(const std::string& path, const std::string& value, const std::string& origin);
  /// Returns a key; nullptr if it is not set.
  const DraftKey* find(const std::string& path) const;
  /// Removes a key; does nothing if it is not set.
  void remove(const std::string& path);
  /// Replaces the prefix `from` of all paths by `to`.
  void rename(const std::string& from, const std::string& to);
  /// Returns the paths of all keys, in the order of set().
  std::vector<std::string> paths() const;

  /// Returns nested YAML: at each level plain keys before groups, otherwise in the order of set().
  std::string yaml() const;

 private:
  std::vector<DraftKey> keys_;
};

}  // namespace roll
