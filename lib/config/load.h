// Loads a YAML text and overrides into a configuration struct, for settings/load_config.h. All errors are reported at
// once, each with its place.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/key_index.h"
#include "config/read_context.h"

namespace roll {

/// Returns the tree of the YAML text `yaml` with files of its `defaults:` list merged, overrides (config/override.h)
/// applied and interpolations resolved. `origin` is the file's path, for messages and the `defaults:` list. Appends
/// notes for the user to `notes`. Throws UserError if the text or an override is invalid, or the text is not a mapping.
Node read_tree(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides,
               std::vector<std::string>& notes);

/// Facts about the keys of a loaded configuration.
struct LoadedKeys {
  std::map<std::string, SetKey> set;  // by path: the keys that the file or an override set, for KeyIndex
  FromEnv from_env;                   // values from the environment, for to_yaml()
  std::vector<std::string> notes;     // messages for the user, such as keys without effect
  std::string origin;                 // the file's name, for messages
};

/// A loaded configuration with facts about its keys.
template <class T>
struct Loaded : LoadedKeys {
  T config;
};

/// Returns advice about an unknown key that other programs have, "; here it is ...", or "" if none is known.
using ForeignAdvice = std::function<std::string(const std::string& key)>;

/// Reads a tree into the struct `config`, and fills `keys` except for `origin`, which the caller has set. `foreign` may
/// be empty. Throws UserError if values have the wrong type or are out of range, or keys are unknown or refused; it
/// lists up to ten errors, each with its place.
void read_config(const Node& tree, const AnyMember& config, ForeignAdvice foreign, LoadedKeys& keys);

/// Loads the YAML text `yaml` into a T: read_tree(), then read_config(). If T has a static function rewrite(Node& tree,
/// notes), calls it in between, to convert other spellings of groups. Throws the UserErrors of both functions.
template <HasFields T>
Loaded<T> load_yaml(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides = {},
                    ForeignAdvice foreign = {}) {
  Loaded<T> loaded;
  loaded.origin = origin;
  Node tree = read_tree(yaml, origin, overrides, loaded.notes);
  if constexpr (requires { T::rewrite(tree, loaded.notes); }) T::rewrite(tree, loaded.notes);
  read_config(tree, loaded.config, std::move(foreign), loaded);
  return loaded;
}

}  // namespace roll
