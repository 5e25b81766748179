// What reading a configuration gathers besides its values: errors, notes, and the place of each key that was set.
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

/// Keys that were accepted and mean nothing here, grouped by the reason.
class NotedKeys {
 public:
  void add(const std::string& path, const std::string& reason);
  bool empty() const { return paths_.empty(); }

  /// One note of several lines: "origin: these keys mean nothing here:\n  a, b (in c, d): reason".
  std::string text(const std::string& origin) const;

 private:
  std::vector<std::string> reasons_;                       // in the order of appearance
  std::map<std::string, std::vector<std::string>> paths_;  // reason -> key paths
};

/// The value of the key at `path` as a message shows it (node.h: excerpt); a secret is not shown.
std::string shown_value(const std::string& path, const Node& node);

/// A key that was set: where, and how its value reads.
struct SetKey {
  Place place;
  std::string excerpt;
};

struct ReadContext {
  Complaints complaints;
  NotedKeys noted;
  std::map<std::string, SetKey> set;
  FromEnv from_env;
  /// Paths at which a key of this name is known; unset: advice about unknown keys does without.
  std::function<std::vector<std::string>(const std::string& key)> homes;
  /// What a key of this name, which other programs have, is here: "; here it is ..."; "": nothing is known of it.
  std::function<std::string(const std::string& key)> foreign;

  /// Structs that say they are something of another program, by path: what else is in them is that program's, and not
  /// complained of.
  std::set<std::string> foreign_structs;

  void complain(const Node& node, const std::string& path, const std::string& rule);
  /// Of the key that says so.
  void complain_foreign(const Node& node, const std::string& path, const std::string& rule);
  void complain_unknown(const MapEntry& entry, const std::string& prefix, const std::vector<std::string>& known);

 private:
  bool is_foreign(const std::string& path) const;
};

/// Whether `key` matches one of `patterns`, where a trailing * stands for anything.
bool matches(const std::string& key, const char* pattern);

/// null, false, 0, empty; with `or_one` also 1: a refused key that wishes for nothing.
bool wishes_nothing(const Node& node, bool or_one);

}  // namespace roll
