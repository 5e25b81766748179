// Side results of reading a configuration (reader.h): errors, notes, and the place of each key that was set.
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

/// Accepted keys without effect, grouped by the reason.
class NotedKeys {
 public:
  void add(const std::string& path, const std::string& reason);
  bool empty() const { return paths_.empty(); }

  /// Returns one note of several lines: "origin: these keys have no effect here:\n  a, b (in c): reason".
  std::string text(const std::string& origin) const;

 private:
  std::vector<std::string> reasons_;                       // in the order of appearance
  std::map<std::string, std::vector<std::string>> paths_;  // reason -> key paths
};

/// Returns the value of the key at `path` as messages show it (excerpt() of node.h), with secrets hidden.
std::string shown_value(const std::string& path, const Node& node);

/// Place and shown value of a key that was set.
struct SetKey {
  Place place;
  std::string excerpt;
};

struct ReadContext {
  Complaints complaints;
  NotedKeys noted;
  std::map<std::string, SetKey> set;
  FromEnv from_env;
  /// Returns the paths where a key of this name exists, for advice about unknown keys; unset: no such advice.
  std::function<std::vector<std::string>(const std::string& key)> find_paths;
  /// Returns the counterpart of another program's key, "; here it is ...", or "" if none is known.
  std::function<std::string(const std::string& key)> foreign_advice;

  /// Paths of structs with a value of another program. Further errors in them are suppressed.
  std::set<std::string> foreign_structs;

  /// Records the error "path = value: rule".
  void complain(const Node& node, const std::string& path, const std::string& rule);
  /// Like complain(), for the value that marks its struct as another program's.
  void complain_foreign(const Node& node, const std::string& path, const std::string& rule);
  void complain_unknown(const MapEntry& entry, const std::string& prefix, const std::vector<std::string>& known);

 private:
  bool is_foreign(const std::string& path) const;
};

/// True if `key` matches `pattern`, where a trailing * matches anything.
bool matches(const std::string& key, const char* pattern);

/// True for null, false, 0, empty, and with `one_is_off` also 1: values that a refused key may have.
bool is_off_value(const Node& node, bool one_is_off);

}  // namespace roll
