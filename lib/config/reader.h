// Reads a configuration tree (node.h) into a struct with fields() (keys.h): fills the members, checks types and ranges,
// and reports unknown keys. Used by load.h, flag.h and json_node.h.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/read_context.h"

namespace roll {

/// Reads a node into the member `out`, which may have any type. `path` is the path of its key. Errors are recorded in
/// `context`; nothing is thrown.
void read_value(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out);

/// Reads one mapping into one struct: pass it to the struct's fields(), then call finish().
class StructReader : public Keys {
 public:
  /// `prefix` precedes the keys in paths: "actor_train.", or "" at the top. `context` and `node` must outlive the
  /// reader.
  StructReader(ReadContext& context, const Node& node, std::string prefix)
      : context_(context), node_(node), prefix_(std::move(prefix)), used_(node.map.size()) {}

  void visit(const KeyLine& line, const AnyMember& member) override;
  bool has(std::string_view key) const override;
  void noted(KeyList keys, const char* reason) override;
  void refused(KeyList keys, const char* reason) override { refuse(keys, reason, false); }
  void refused_above_one(KeyList keys, const char* reason) override { refuse(keys, reason, true); }

  /// Records an error for each key of the mapping that fields() did not declare; call it after fields().
  void finish();

 private:
  /// Returns the key's value and marks it as used; nullptr if it is not set or its interpolation failed.
  const Node* find_used(const char* key);
  void refuse(KeyList keys, const char* reason, bool one_is_off);

  ReadContext& context_;
  const Node& node_;
  std::string prefix_;
  std::vector<bool> used_;
  std::vector<std::string> known_;
};

/// Reads the mapping `map` into the struct `group` by a StructReader. `prefix` precedes the keys in paths:
/// "actor_train.", or "" at the top.
void read_fields(ReadContext& context, const Node& map, const std::string& prefix, const AnyMember& group);

}  // namespace roll
