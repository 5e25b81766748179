// A configuration as a tree of nodes, as parse_yaml() (yaml.h) makes it: values are text, with the place of each in the
// file. Anchors, aliases and merge keys are already expanded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

inline constexpr const char* kCommandLine = "command line";  // origin of overrides

/// The place of a value, for messages.
struct Place {
  std::shared_ptr<const std::string> origin;  // file name, or another name such as kCommandLine; nullptr if unknown
  int line = 0;                               // from 1; 0 if there is none
  int column = 0;                             // from 1; 0 if there is none

  /// Returns "rlvr.yaml:14:3", or the origin alone.
  std::string text() const;
  bool is_command_line() const { return line == 0 && origin && *origin == kCommandLine; }
};

struct MapEntry;

/// A value with all values inside it.
struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;             // kScalar: the value as written, without quotes
  bool quoted = false;          // kScalar: always text, never a number or boolean, because of quotes or !!str
  bool literal = false;         // kScalar: interpolations are resolved; a remaining `${` is plain text
  bool is_referred_to = false;  // an interpolation elsewhere refers to this node
  std::vector<Node> list;       // kList: the entries
  std::vector<MapEntry> map;    // kMap: the entries in the file's order; keys are unique
  Place place;
  std::string env_text;  // kScalar: `text` with ${oc.env:NAME} in place of environment values; "" without such values
  std::string error;     // why an interpolation in this node failed; reported when the value is read; "": no failure

  /// Returns the value of a key of this map; nullptr if the map lacks the key, or this is no map.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);

  /// Returns the number of nodes in this tree, this one included.
  size_t size() const;
};

struct MapEntry {
  std::string key;
  Place place;  // place of the key; value.place is that of the value
  Node value;
};

/// Splits a key's path at the dots: "a.b" into "a" and "b".
std::vector<std::string> path_parts(std::string_view path);

/// Returns the type of a value in words, for messages: "text", "a whole number", "a list", ...
std::string describe(const Node& node);

/// Returns the value on one line in YAML's flow style: `[0, 1]`. Maps are cut after the first key: `{a: ...}`. With
/// `hides_env`, values from the environment are shown as `${oc.env:NAME}`.
std::string flow_text(const Node& node, bool hides_env = false);

/// Returns the value as messages show it: flow_text() with `hides_env`, cut to 60 bytes and "...".
std::string excerpt(const Node& node);

}  // namespace roll
