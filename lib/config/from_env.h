// Remembers which values of a configuration came from environment variables. They may be secret, so written files and
// messages show the `${oc.env:NAME}` instead; a reader of the file resolves it to the value again.
#pragma once

#include <map>
#include <string>

#include "config/node.h"

namespace roll {

class FromEnv {
 public:
  /// Records the value `scalar` of the key at `path`; does nothing if it has no text from the environment.
  void add(const std::string& path, const Node& scalar);
  /// Returns the text to show in place of the value of the key at `path`: its ${oc.env:NAME}, or "(hidden)" for a
  /// secret that the file itself holds. Returns nullptr if the value may be shown. The text lives as long as this
  /// object.
  const std::string* find_by_path(const std::string& path) const;
  /// Returns the ${oc.env:NAME} to show in place of the value `text`, if a recorded value of at least kShortestSecret
  /// bytes equals it: code may have copied it to another key. Returns nullptr if `text` may be shown.
  const std::string* find_by_text(const std::string& text) const;

 private:
  std::map<std::string, std::string> env_text_by_path_;  // keys: "a.b", "a.list[2]"
  std::map<std::string, std::string> env_text_by_text_;
};

}  // namespace roll
