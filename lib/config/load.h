// A YAML file and overrides -> a struct; all errors are reported at once, each with its place.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "config/key_index.h"
#include "config/reader.h"
#include "config/walk.h"

namespace roll {

/// The tree of a file with overrides applied and interpolations resolved. UserError. `origin` names it in messages.
Node read_tree(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides,
               std::vector<std::string>& notes);

template <class T>
struct Loaded {
  T config;
  std::map<std::string, SetKey> set;  // the keys that were set, for KeyIndex
  FromEnv from_env;                   // for to_yaml
  std::vector<std::string> notes;     // what was accepted and means nothing here
  std::string origin;
};

/// Reads YAML text. UserError names every wrong type, unknown or refused key (up to ten at once), each with its place.
/// `foreign`: see ReadContext. A struct may have a static rewrite(Node& tree, notes) that brings other spellings of its
/// groups into one shape before they are read.
template <HasFields T>
Loaded<T> load_yaml(const std::string& yaml, const std::string& origin, const std::vector<std::string>& overrides = {},
                    std::function<std::string(const std::string& key)> foreign = {}) {
  Loaded<T> loaded;
  loaded.origin = origin;
  Node tree = read_tree(yaml, origin, overrides, loaded.notes);
  if constexpr (requires { T::rewrite(tree, loaded.notes); }) T::rewrite(tree, loaded.notes);
  ReadContext context;
  context.homes = [](const std::string& key) {
    T example;
    std::vector<std::string> paths;
    const auto visit = [&]<class M>(const KeyInfo& info, M&) {
      if (info.key == key && !std::is_same_v<M, Noted>) paths.push_back(info.path);  // it would do nothing there either
    };
    walk(example, visit, true);
    return paths;
  };
  context.foreign = std::move(foreign);
  read_struct(context, tree, "", loaded.config);
  context.complaints.throw_if_any();
  if (!context.noted.empty()) loaded.notes.push_back(context.noted.text(origin));
  loaded.set = std::move(context.set);
  loaded.from_env = std::move(context.from_env);
  return loaded;
}

}  // namespace roll
