// Keys of fields() outside of a file: as a tool's flags, and in structs that code has filled.
#pragma once

#include <string>

#include "config/interpolation.h"
#include "config/reader.h"

namespace roll {

/// The text of a flag as a file's scalar.
inline Node scalar_of_flag(const std::string& text) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.text = text;
  node.place.origin = std::make_shared<const std::string>();  // errors name the flag, no place
  return node;
}

/// Adds a key to the mapping `given`. The last value of a key counts.
inline void give_flag(Node& given, const std::string& key, Node value) {
  given.kind = Node::Kind::kMap;
  if (Node* before = given.find(key))
    *before = std::move(value);
  else
    given.map.push_back({key, value.place, std::move(value)});
}

/// The mapping with the values of its `${oc.env:NAME}`, as a file has them.
inline Node interpolated(Node given) {
  std::vector<std::string> notes;  // of Hydra's files, which no flag names
  interpolate(given, notes);
  return given;
}

/// Reads the text of a flag as a file's scalar is read, interpolations included. UserError "--top-p = 2: must be above
/// 0 and at most 1".
template <class M>
void read_flag(const std::string& flag, const std::string& text, M& member, const Range& range) {
  Node given;
  give_flag(given, flag, scalar_of_flag(text));
  const Node node = interpolated(std::move(given)).map.front().value;
  ReadContext context;
  node.error.empty() ? read_value(context, node, flag, member) : context.complain(node, flag, node.error);
  context.complaints.throw_if_any();
  if (const auto wrong = outside(range, member)) context.complain(node, flag, range.rule(*wrong));
  context.complaints.throw_if_any();
}

/// Reads gathered keys as a file's mapping is read. UserError "--world_size = 0: must be in 1..1024"; `prefix` opens
/// it.
template <HasFields T>
void read_flags(const Node& given, T& args, const std::string& prefix = "--") {
  ReadContext context;
  const Node values = interpolated(given);
  StructReader reader(context, values, prefix);
  args.fields(reader);
  reader.finish();
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
