#include "config/json_node.h"

#include <nlohmann/json.hpp>

#include "config/flag.h"
#include "config/reader.h"

namespace roll {

Node to_node(const Json& value) {
  if (value.is_string() || value.is_number() || value.is_boolean()) {
    Node node = flag_scalar(value.is_string() ? value.get<std::string>() : to_line(value));
    node.quoted = value.is_string();
    return node;
  }
  Node node;
  node.place = flag_scalar("").place;
  if (value.is_null()) return node;
  node.kind = value.is_array() ? Node::Kind::kList : Node::Kind::kMap;
  for (const auto& [key, inner] : value.items()) {
    if (value.is_array())
      node.list.push_back(to_node(inner));
    else
      set_flag(node, key, to_node(inner));
  }
  return node;
}

void read_json_fields(const Json& object, const AnyMember& out, const std::string& prefix) {
  ReadContext context;
  const Node values = to_node(object);
  read_fields(context, values, prefix, out);
  context.complaints.throw_if_any();
}

}  // namespace roll
