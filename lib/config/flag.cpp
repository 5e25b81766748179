#include "config/flag.h"

#include "base/error.h"
#include "config/interpolation.h"
#include "config/reader.h"
#include "config/walk.h"

namespace roll {

namespace {

/// Returns the mapping with its interpolations resolved, like a file's.
Node resolve_interpolations(Node given) {
  std::vector<std::string> notes;  // dropped: they concern only Hydra's files
  interpolate(given, notes);
  return given;
}

}  // namespace

Node flag_scalar(const std::string& text) {
  Node node;
  node.kind = Node::Kind::kScalar;
  node.text = text;
  node.place.origin = std::make_shared<const std::string>();  // no place: errors name the flag
  return node;
}

void set_flag(Node& given, const std::string& key, Node value) {
  given.kind = Node::Kind::kMap;
  if (Node* before = given.find(key))
    *before = std::move(value);
  else
    given.map.push_back({key, value.place, std::move(value)});
}

void read_flag(const std::string& flag, const std::string& text, const AnyMember& member, const Range& range) {
  Node given;
  set_flag(given, flag, flag_scalar(text));
  const Node node = resolve_interpolations(std::move(given)).map.front().value;
  ReadContext context;
  node.error.empty() ? read_value(context, node, flag, member) : context.complain(node, flag, node.error);
  context.complaints.throw_if_any();
  if (const auto wrong = outside(range, member)) context.complain(node, flag, range.rule(*wrong));
  context.complaints.throw_if_any();
}

void read_flags(const Node& given, const AnyMember& args, const std::string& prefix) {
  ReadContext context;
  read_fields(context, resolve_interpolations(given), prefix, args);
  context.complaints.throw_if_any();
}

void check_ranges(const AnyMember& config) {
  walk(config, WalkDepth::kAll, [](const KeyInfo& info, const AnyMember& member) {
    if (!member.type) return;
    if (const auto wrong = outside(info.range, member))
      throw user_error("{} = {}: {}", info.path, *wrong, info.range.rule(*wrong));
  });
}

}  // namespace roll
