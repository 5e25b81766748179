// A configuration of ours in the making: keys with their values, and for each where it came from.
#pragma once

#include <string>
#include <vector>

namespace roll {

struct DraftKey {
  std::string path;    // "actor_train.training_args.learning_rate"
  std::string value;   // as YAML, or a text
  std::string origin;  // for the comment beside it
};

class Draft {
 public:
  /// The last value of a path counts, and stands where the first one did.
  void set(const std::string& path, const std::string& value, const std::string& origin);
  const DraftKey* find(const std::string& path) const;
  void remove(const std::string& path);
  /// Keys that begin with `from` begin with `to` then.
  void rename(const std::string& from, const std::string& to);
  std::vector<std::string> paths() const;

  /// Nested YAML: at each level plain keys before groups, otherwise in the order of set().
  std::string yaml() const;

 private:
  std::vector<DraftKey> keys_;
};

}  // namespace roll
