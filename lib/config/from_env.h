// Which values came from the environment: they may be secret, so what is written or shown holds the `${oc.env:NAME}`
// that they came from. Reading that gives the values again.
#pragma once

#include <map>
#include <string>

#include "config/node.h"

namespace roll {

class FromEnv {
 public:
  /// Does nothing for a value that came from elsewhere.
  void add(const std::string& path, const Node& scalar);
  /// What stands for the value at this path; nullptr: itself.
  const std::string* at(const std::string& path) const;
  /// What stands for a text that was copied from another key, such as a role's model from `pretrain`; nullptr: itself.
  const std::string* like(const std::string& text) const;

 private:
  std::map<std::string, std::string> by_path_;  // "a.b", "a.list[2]"
  std::map<std::string, std::string> by_text_;
};

}  // namespace roll
