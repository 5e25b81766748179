// A configuration as a tree of text with places: YAML with its anchors and merge keys expanded.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace roll {

inline constexpr const char* kCommandLine = "command line";

/// Where a value was written: a file with line and column (from 1), or only a name such as kCommandLine.
struct Place {
  std::shared_ptr<const std::string> origin;
  int line = 0;
  int column = 0;

  /// "rlvr.yaml:14:3", or the origin alone.
  std::string text() const;
  bool is_command_line() const { return line == 0 && origin && *origin == kCommandLine; }
};

struct MapEntry;

struct Node {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  std::string text;             // kScalar: as written, without quotes
  bool quoted = false;          // kScalar: quotes (or !!str) make it text, whatever it looks like
  bool literal = false;         // kScalar: a `${` in it is no longer an interpolation
  bool is_referred_to = false;  // by an interpolation
  std::vector<Node> list;
  std::vector<MapEntry> map;  // in the file's order, keys are unique
  Place place;
  std::string env_text;  // kScalar: where the environment gave some of it, the text with that part as ${oc.env:NAME}
  std::string error;     // why this value cannot be known (a failed interpolation); reported when it is read

  /// The value of a key, or nullptr. Only for maps; others have no keys.
  const Node* find(std::string_view key) const;
  Node* find(std::string_view key);

  /// Number of nodes of the subtree.
  size_t size() const;
};

struct MapEntry {
  std::string key;
  Place place;
  Node value;
};

/// "a", "b" of the key path "a.b".
std::vector<std::string> path_parts(std::string_view path);

/// "text", "a whole number", "a list", ...: what a value is, for "expected x, found y".
std::string describe(const Node& node);

/// The whole value on one line, as YAML's flow style shows it: `[0, 1]`. `hides_env`: see Node::env_text.
std::string flow_text(const Node& node, bool hides_env = false);

/// The value as a message shows it: one line, cut to 60 characters, without what the environment gave.
std::string excerpt(const Node& node);

}  // namespace roll
