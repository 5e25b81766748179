#include "config/node_json.h"

#include <nlohmann/json.hpp>

#include "config/scalar.h"

namespace roll {

namespace {

Json scalar_json(const Node& node) {
  if (node.quoted) return node.text;
  if (is_null_word(node.text)) return nullptr;
  if (const auto flag = parse_bool(node.text)) return *flag;
  if (const auto whole = parse_whole(node.text)) return *whole;
  if (const auto number = parse_number(node.text)) return json_float(*number);
  return node.text;
}

}  // namespace

Json to_json(const Node& node) {
  Json json;
  switch (node.kind) {
    case Node::Kind::kNull:
      break;
    case Node::Kind::kScalar:
      return scalar_json(node);
    case Node::Kind::kList:
      json = Json::array();
      for (const Node& item : node.list) json.push_back(to_json(item));
      break;
    case Node::Kind::kMap:
      json = Json::object();
      for (const MapEntry& entry : node.map) json[entry.key] = to_json(entry.value);
      break;
  }
  return json;
}

}  // namespace roll
