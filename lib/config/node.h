// A configuration as a tree of text nodes with places; yaml.h makes it, with anchors and merge keys expanded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

inline constexpr const char* kCommandLine = "command line";

/// The place of a value: a file with line and column (from 1), or only a name such as kCommandLine.
struct Place {
  std::shared_ptr<const std::string> origin;
  int line = 0;
  int column = 0;

  /// Returns "rlvr.yaml:14:3", or the origin alone.
  std::string text() const;
  bool is_command_line() const { return line == 0 && origin && *origin == kCommandLine; }
};

struct MapEntry;

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;             // kScalar: as written, without quotes
  bool quoted = false;          // kScalar: always text, because of quotes or !!str
  bool literal = false;         // kScalar: resolved; a remaining `${` is plain text
  bool is_referred_to = false;  // an interpolation refers to it
  std::vector<Node> list;
  std::vector<MapEntry> map;  // in the file's order, keys are unique
  Place place;
  std::string env_text;  // kScalar: text with ${oc.env:NAME} for the parts from the environment; empty: no such parts
  std::string error;     // error of a failed interpolation, reported when the value is read

  /// Returns the value of a key of a map, or nullptr.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);

  /// Returns the number of nodes of the subtree.
  size_t size() const;
};

struct MapEntry {
  std::string key;
  Place place;
  Node value;
};

/// Splits the key path "a.b" into "a", "b".
std::vector<std::string> path_parts(std::string_view path);

/// Returns the type of a value in words, for messages: "text", "a whole number", "a list", ...
std::string describe(const Node& node);

/// Returns the value on one line in YAML's flow style: `[0, 1]`. Maps are cut. `hides_env`: uses Node::env_text.
std::string flow_text(const Node& node, bool hides_env = false);

/// Returns the value as messages show it: one line, cut to 60 bytes, without values from the environment.
std::string excerpt(const Node& node);

}  // namespace roll
