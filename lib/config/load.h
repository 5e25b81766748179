// A YAML file and overrides -> a struct; all errors are reported at once, each with its place.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/key_index.h"
#include "config/read_context.h"

namespace roll {

/// The tree of a file with overrides applied and interpolations resolved. UserError. `origin` names it in messages.
Node read_tree(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides,
               std::vector<std::string>& notes);

/// What reading a configuration says of its keys.
struct LoadedKeys {
  std::map<std::string, SetKey> set;  // the keys that were set, for KeyIndex
  FromEnv from_env;                   // for to_yaml
  std::vector<std::string> notes;     // what was accepted and means nothing here
  std::string origin;
};

template <class T>
struct Loaded : LoadedKeys {
  T config;
};

/// See ReadContext.
using ForeignAdvice = std::function<std::string(const std::string& key)>;

/// Reads a tree into a group. UserError names every wrong type, unknown or refused key (up to ten at once), each with
/// its place.
void read_config(const Node& tree, const AnyMember& config, ForeignAdvice foreign, LoadedKeys& keys);

/// Reads YAML text. UserError: as read_tree() and read_config(). A struct may have a static rewrite(Node& tree, notes)
/// that brings other spellings of its groups into one shape before they are read.
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
