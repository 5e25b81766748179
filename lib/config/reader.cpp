#include "config/reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "config/scalar.h"

namespace roll {

namespace {

void read_list(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out) {
  out.type->clear(out.at);
  if (node.kind == Node::Kind::kNull) return;
  const bool is_single_value = node.kind == Node::Kind::kScalar;  // a single value is a list of one
  if (node.kind == Node::Kind::kMap) return context.complain(node, path, "a list is needed, this is a mapping");
  size_t count = 0;
  for (const Node& item : is_single_value ? std::vector<Node>{node} : node.list) {
    if (!item.error.empty()) {
      context.complain(item, path, item.error);
      continue;
    }
    const std::string numbered = fmt::format("{}[{}]", path, count++);
    context.from_env.add(numbered, item);
    const bool is_group = out.type->inner->shape == MemberType::Shape::kGroup;
    out.type->add(out.at, "", [&](void* value) {
      read_value(context, item, is_group ? numbered : path, {value, *out.type->inner});
      return true;
    });
  }
}

void read_map(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out) {
  out.type->clear(out.at);
  if (node.kind == Node::Kind::kNull) return;
  if (node.kind != Node::Kind::kMap)
    return context.complain(node, path, fmt::format("a mapping is needed, this is {}", describe(node)));
  for (const MapEntry& entry : node.map) {
    const std::string inner = path + "." + entry.key;
    context.set[inner] = {entry.place, shown_value(inner, entry.value)};
    context.from_env.add(inner, entry.value);
    if (!entry.value.error.empty()) {
      context.complain(entry.value, inner, entry.value.error);
      continue;
    }
    out.type->add(out.at, entry.key, [&](void* value) {
      read_value(context, entry.value, inner, {value, *out.type->inner});
      return true;
    });
  }
}

void read_group(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out) {
  if (node.kind == Node::Kind::kNull) return;  // `strategy_config: ~` keeps the defaults
  if (node.kind != Node::Kind::kMap)
    return context.complain(node, path, fmt::format("a mapping is needed, this is {}", describe(node)));
  read_fields(context, node, path.empty() ? path : path + ".", out);
}

}  // namespace

void read_value(ReadContext& context, const Node& node, const std::string& path, const AnyMember& out) {
  switch (out.type->shape) {
    case MemberType::Shape::kGroup:
      return read_group(context, node, path, out);
    case MemberType::Shape::kList:
      return read_list(context, node, path, out);
    case MemberType::Shape::kMap:
      return read_map(context, node, path, out);
    case MemberType::Shape::kOptional:
      if (node.kind == Node::Kind::kNull) return out.type->clear(out.at);
      return out.type->add(out.at, "", [&](void* value) {
        const size_t num_complaints = context.complaints.size();
        read_value(context, node, path, {value, *out.type->inner});
        return context.complaints.size() == num_complaints;
      });
    case MemberType::Shape::kScalar:
      const BadValue wrong = out.type->read(node, out.at);
      if (wrong.rule.empty()) return;
      wrong.is_foreign ? context.complain_foreign(node, path, wrong.rule) : context.complain(node, path, wrong.rule);
  }
}

void read_fields(ReadContext& context, const Node& map, const std::string& prefix, const AnyMember& group) {
  StructReader reader(context, map, prefix);
  group.type->fields(group.at, reader);
  reader.finish();
}

void StructReader::visit(const KeyLine& line, const AnyMember& member) {
  const Node* value = find_used(line.key);
  if (!value) return;
  const std::string path = prefix_ + line.key;
  read_value(context_, *value, path, member);
  if (line.is_bool_or_text && value->kind == Node::Kind::kScalar && !value->quoted)
    if (const auto boolean = parse_bool(value->text))
      *static_cast<std::string*>(member.at) = *boolean ? "true" : "false";
  const bool may_be_null = member.type->shape == MemberType::Shape::kOptional;
  if (const auto wrong = outside(line.range, member))
    context_.complain(*value, path, line.range.rule(*wrong) + (may_be_null ? ", or null" : ""));
}

bool StructReader::has(std::string_view key) const {
  return std::ranges::any_of(node_.map, [&](const MapEntry& entry) { return entry.key == key; });
}

const Node* StructReader::find_used(const char* key) {
  known_.push_back(key);
  for (size_t i = 0; i < node_.map.size(); ++i) {
    const MapEntry& entry = node_.map[i];
    if (entry.key != key) continue;
    used_[i] = true;
    const std::string path = prefix_ + key;
    context_.set[path] = {entry.value.place, shown_value(path, entry.value)};
    context_.from_env.add(path, entry.value);
    if (entry.value.error.empty()) return &entry.value;
    context_.complain(entry.value, path, entry.value.error);
  }
  return nullptr;
}

void StructReader::noted(KeyList keys, const char* reason) {
  for (const char* pattern : keys) {
    known_.push_back(pattern);
    for (size_t i = 0; i < node_.map.size(); ++i) {
      const MapEntry& entry = node_.map[i];
      if (used_[i] || !matches(entry.key, pattern)) continue;
      used_[i] = true;
      if (entry.value.place.is_command_line() && !entry.value.is_referred_to)  // typed on purpose
        context_.complain(entry.value, prefix_ + entry.key, fmt::format("has no effect: {}; leave it out", reason));
      else
        context_.noted.add(prefix_ + entry.key, reason);
    }
  }
}

void StructReader::refuse(KeyList keys, const char* reason, bool one_is_off) {
  for (const char* pattern : keys) {
    known_.push_back(pattern);
    for (size_t i = 0; i < node_.map.size(); ++i) {
      const MapEntry& entry = node_.map[i];
      if (used_[i] || !matches(entry.key, pattern)) continue;
      used_[i] = true;
      if (!is_off_value(entry.value, one_is_off)) context_.complain(entry.value, prefix_ + entry.key, reason);
    }
  }
}

void StructReader::finish() {
  for (size_t i = 0; i < node_.map.size(); ++i)
    if (!used_[i]) context_.complain_unknown(node_.map[i], prefix_, known_);
}

}  // namespace roll
