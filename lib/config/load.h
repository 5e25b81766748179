// Loads a YAML file and overrides into a configuration struct. All errors are reported at once, each with its place.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/key_index.h"
#include "config/read_context.h"

namespace roll {

/// Returns the tree of a YAML text with overrides applied and interpolations resolved. `origin` names it in messages.
/// UserError: invalid YAML or overrides, or the text is not a mapping.
Node read_tree(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides,
               std::vector<std::string>& notes);

/// Facts about the keys of a loaded configuration.
struct LoadedKeys {
  std::map<std::string, SetKey> set;  // the keys that were set, for KeyIndex
  FromEnv from_env;                   // for to_yaml
  std::vector<std::string> notes;     // messages for the user, such as keys without effect
  std::string origin;
};

template <class T>
struct Loaded : LoadedKeys {
  T config;
};

/// Advice about a key of other programs; see ReadContext::foreign_advice.
using ForeignAdvice = std::function<std::string(const std::string& key)>;

/// Reads a tree into a group. UserError: wrong types, numbers out of range, unknown or refused keys; it lists up to
/// ten, each with its place.
void read_config(const Node& tree, const AnyMember& config, ForeignAdvice foreign, LoadedKeys& keys);

/// Loads YAML text into a T. A static T::rewrite(Node& tree, notes), if any, first converts other spellings of its
/// groups. UserError: the errors of read_tree() and read_config().
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
