// Reads a tree (node.h) into a struct: a visitor of fields() fills the members, checks types and reports unknown keys.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/keys.h"
#include "config/read_context.h"

namespace roll {

/// Reads a node into a member of any type; records errors in `context`.
void read_value(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out);

/// Reads one mapping into one struct.
class StructReader : public Keys {
 public:
  StructReader(ReadContext& context, const Node& node, std::string prefix)
      : context_(context), node_(node), prefix_(std::move(prefix)), used_(node.map.size()) {}

  void visit(const KeyLine& line, const AnyMember& member) override;
  bool has(std::string_view key) const override;
  void noted(KeyList keys, const char* reason) override;
  void refused(KeyList keys, const char* reason) override { refuse(keys, reason, false); }
  void refused_above_one(KeyList keys, const char* reason) override { refuse(keys, reason, true); }

  /// Reports the unknown keys; call it after fields().
  void finish();

 private:
  /// Returns the key's value and marks it as used; nullptr if it is not set or its interpolation failed.
  const Node* find_used(const char* key);
  void refuse(KeyList keys, const char* reason, bool one_is_off);

  ReadContext& context_;
  const Node& node_;
  std::string prefix_;  // "" or "actor_train."
  std::vector<bool> used_;
  std::vector<std::string> known_;
};

/// Reads the keys of a mapping into a group; `prefix` precedes their names in paths.
void read_fields(ReadContext& context, const Node& map, const std::string& prefix, const AnyMember& group);

}  // namespace roll
