// Draft of the roll configuration that a converter builds: configuration keys with values, and the origin of each.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct DraftKey {
  std::string path;    // "actor_train.training_args.learning_rate"
  std::string value;   // YAML, written unchanged: "1e-6", "[a, b]"
  std::string origin;  // comment written next to the key: "from run.sh:12: lr"
};

class Draft {
 public:
  /// Sets a key. Setting it again replaces value and origin but keeps the key's position.
  void set(const std::string& path, const std::string& value, const std::string& origin);
  /// Returns the key with exactly this path, valid until the draft changes; nullptr if it is not set.
  const DraftKey* find(const std::string& path) const;
  /// Removes a key; does nothing if it is not set.
  void remove(const std::string& path);
  /// Replaces `from` by `to` in all paths that begin with the text `from`.
  void rename(const std::string& from, const std::string& to);
  /// Returns the paths of all keys, in the order in which they were first set.
  std::vector<std::string> paths() const;

  /// Returns nested YAML: at each level plain keys before groups, otherwise in the order of set().
  std::string yaml() const;

 private:
  std::vector<DraftKey> keys_;
};

}  // namespace roll
