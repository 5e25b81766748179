// Collects, while reader.h reads a configuration: errors, keys without effect, the place of each key that was set, and
// values from the environment.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "config/complaints.h"
#include "config/from_env.h"
#include "config/node.h"

namespace roll {

/// Keys in the file that are accepted but have no effect (Keys::noted()), grouped by the reason.
class NotedKeys {
 public:
  void add(const std::string& path, const std::string& reason);
  bool empty() const { return paths_.empty(); }

  /// Returns one note of several lines: "origin: these keys have no effect here:\n a, b (in c): reason". `origin` is
  /// the file's name; "b (in c)" is the key c.b.
  std::string text(const std::string& origin) const;

 private:
  std::vector<std::string> reasons_;                       // in the order of appearance
  std::map<std::string, std::vector<std::string>> paths_;  // reason -> key paths
};

/// Returns the value of the key at `path` as messages show it, in one short line (excerpt() in node.h); "(hidden)" if
/// the key usually holds a secret.
std::string shown_value(const std::string& path, const Node& node);

/// A key that the file or an override set.
struct SetKey {
  Place place;
  std::string excerpt;  // shown_value()
};

struct ReadContext {
  Complaints complaints;              // all errors so far
  NotedKeys noted;                    // keys without effect
  std::map<std::string, SetKey> set;  // by path
  FromEnv from_env;                   // values from the environment
  /// Set by the caller, or empty: returns the paths at which a key of this name exists, to advise on misplaced keys.
  std::function<std::vector<std::string>(const std::string& key)> find_paths;
  /// Set by the caller, or empty: returns advice about an unknown key that other programs have, "; here it is ...", or
  /// "" if none is known.
  std::function<std::string(const std::string& key)> foreign_advice;

  /// Paths of groups that turned out to be written for another program. Further errors in them are suppressed.
  std::set<std::string> foreign_structs;

  /// Records the error "path = value: rule" for the key at `path` with the value `node`.
  void complain(const Node& node, const std::string& path, const std::string& rule);
  /// Like complain(), for a value which shows that its group was written for another program: further errors in that
  /// group are suppressed.
  void complain_foreign(const Node& node, const std::string& path, const std::string& rule);
  /// Records that the key of `entry` is unknown, with advice. `prefix` is the path of its group with a dot at the end,
  /// or ""; `known` are the keys of that group.
  void complain_unknown(const MapEntry& entry, const std::string& prefix, const std::vector<std::string>& known);

 private:
  bool is_foreign(const std::string& path) const;
};

/// Returns true if `key` equals `pattern`, or begins with `pattern` without its final *.
bool matches(const std::string& key, const char* pattern);

/// Returns true for the values that a refused key may have: null, false, 0, empty, and with `one_is_off` also 1.
bool is_off_value(const Node& node, bool one_is_off);

}  // namespace roll
