#include "config/node.h"

#include <fmt/format.h>

#include <utility>

#include "base/utf8.h"
#include "config/scalar.h"

namespace roll {

std::string Place::text() const {
  const std::string name = origin ? *origin : std::string("configuration");
  return line > 0 ? fmt::format("{}:{}:{}", name, line, column) : name;
}

const Node* Node::find(std::string_view key) const {
  for (const MapEntry& entry : map)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

Node* Node::find(std::string_view key) {
  return const_cast<Node*>(std::as_const(*this).find(key));
}

size_t Node::size() const {
  size_t sum = 1;
  for (const Node& item : list) sum += item.size();
  for (const MapEntry& entry : map) sum += entry.value.size();
  return sum;
}

std::vector<std::string> path_parts(std::string_view path) {
  std::vector<std::string> parts(1);
  for (const char c : path) {
    if (c == '.')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string describe(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kList:
      return "a list";
    case Node::Kind::kMap:
      return "a mapping";
    case Node::Kind::kScalar:
      break;
  }
  if (node.quoted) return "text in quotes";
  if (parse_bool(node.text)) return "true/false";
  if (parse_whole(node.text)) return "a whole number";
  if (parse_number(node.text)) return "a float";
  return "text";
}

std::string flow_text(const Node& node, bool hides_env) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return "null";
    case Node::Kind::kList: {
      std::string items;
      for (size_t i = 0; i < node.list.size(); ++i) items += (i ? ", " : "") + flow_text(node.list[i], hides_env);
      return "[" + items + "]";
    }
    case Node::Kind::kMap:
      return node.map.empty() ? "{}" : "{" + node.map[0].key + ": ...}";
    case Node::Kind::kScalar:
      break;
  }
  const std::string& text = hides_env && !node.env_text.empty() ? node.env_text : node.text;
  return node.quoted ? "\"" + text + "\"" : text;
}

std::string excerpt(const Node& node) {
  constexpr size_t kLimit = 60;
  std::string text;
  for (const char c : flow_text(node, true)) text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (text.size() <= kLimit) return text;
  return std::string(whole_characters(text, kLimit)) + "...";
}

}  // namespace roll
