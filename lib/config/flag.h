// Keys of fields() outside of a file: as a tool's flags, and in structs that code has filled.
#pragma once

#include <string>

#include "config/reader.h"

namespace roll {

/// Reads the text of a flag as a file's scalar is read. UserError "--top-p = 2: must be above 0 and at most 1".
template <class M>
void read_flag(const std::string& flag, const std::string& text, M& member, const Range& range) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.text = text;
  node.place.origin = std::make_shared<const std::string>();
  ReadContext context;
  read_value(context, node, flag, member);
  if (const auto wrong = outside(range, member)) context.complain(node, flag, range.rule(*wrong));
  context.complaints.throw_if_any();
}

/// UserError "key = value: rule" for the first number that is out of its range.
template <HasFields T>
void check_ranges(T config) {
  walk(config, [](const KeyInfo& info, const auto& member) {
    if (const auto wrong = outside(info.range, member))
      throw user_error("{} = {}: {}", info.path, *wrong, info.range.rule(*wrong));
  });
}

}  // namespace roll
