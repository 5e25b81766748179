// Remembers values that came from the environment. They may be secret, so written files and messages hold the
// `${oc.env:NAME}` instead, which gives the values again when read.
#pragma once

#include <map>
#include <string>

#include "config/node.h"

namespace roll {

class FromEnv {
 public:
  /// Records the value at `path`; does nothing if it did not come from the environment.
  void add(const std::string& path, const Node& scalar);
  /// Returns the text to show in place of the value at `path`, also for a secret in the file; nullptr: the value.
  const std::string* find_by_path(const std::string& path) const;
  /// Returns the text to show for a value copied from another key, such as a role's model; nullptr: the value.
  const std::string* find_by_text(const std::string& text) const;

 private:
  std::map<std::string, std::string> env_text_by_path_;  // "a.b", "a.list[2]"
  std::map<std::string, std::string> env_text_by_text_;
};

}  // namespace roll
