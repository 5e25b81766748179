#include "config/override.h"

#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"
#include "config/secret.h"
#include "config/yaml.h"

namespace roll {

namespace {

std::vector<std::string> split_path(const std::string& path, const std::string& argument) {
  std::vector<std::string> parts = path_parts(path);
  if (std::find(parts.begin(), parts.end(), "") != parts.end() || parts.size() > 20)
    throw user_error("{}: {}: an override is key=value or group.key=value", kCommandLine, argument);
  return parts;
}

/// Returns the mapping for the last part of `parts`; creates missing mappings.
Node& find_parent(Node& root, const std::vector<std::string>& parts, const Place& place, const std::string& argument) {
  Node* node = &root;
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    Node* next = node->find(parts[i]);
    if (!next) {
      node->map.push_back({parts[i], place, {}});
      next = &node->map.back().value;
    }
    if (next->kind == Node::Kind::kNull) {
      next->kind = Node::Kind::kMap;
      next->place = place;
    }
    if (next->kind != Node::Kind::kMap)
      throw user_error("{}: {}: {} is {} at {}, not a mapping; write {}{}", kCommandLine, argument, parts[i],
                       describe(*next), next->place.text(), fmt::join(parts.begin(), parts.begin() + i + 1, "."),
                       argument.substr(argument.find('=')));
    node = next;
  }
  return *node;
}

void remove_key(Node& root, const std::string& argument) {
  const auto parts = split_path(argument.substr(1), argument);
  Node* node = &root;
  for (size_t i = 0; node && i + 1 < parts.size(); ++i) node = node->find(parts[i]);
  if (!node || !node->find(parts.back())) {
    std::vector<std::string> keys;
    if (node)
      for (const MapEntry& entry : node->map) keys.push_back(entry.key);
    const std::string near = did_you_mean(parts.back(), keys);
    throw user_error("{}: {}: there is no such key to remove{}", kCommandLine, argument,
                     near.empty() ? "; the file does not set it; leave this out" : near);
  }
  std::erase_if(node->map, [&](const MapEntry& entry) { return entry.key == parts.back(); });
}

/// Throws for a word without '='. With the `next` word it was probably meant as `key value` or `key: value`.
[[noreturn]] void refuse_word(std::string word, const std::string& next) {
  const std::string word_as_given = word;
  if (word.ends_with(':')) word.pop_back();
  const bool has_value = !next.empty() && next.find('=') == std::string::npos;
  throw user_error("{}: '{}': neither a flag nor an override; overrides are key=value: {}", kCommandLine, word_as_given,
                   shown_argument(word + "=" + (has_value ? next : "...")));
}

void apply(Node& root, const std::string& argument) {
  if (argument.starts_with('~')) return remove_key(root, argument);
  const size_t equals = argument.find('=');
  const size_t start = std::min(argument.find_first_not_of('+'), equals);
  const std::string shown = shown_argument(argument);
  const auto parts = split_path(argument.substr(start, equals - start), shown);
  Node value = parse_yaml(argument.substr(equals + 1), fmt::format("{}: {}", kCommandLine, shown), true);
  const Place place{std::make_shared<const std::string>(kCommandLine), 0, 0};
  value.place = place;
  Node& parent = find_parent(root, parts, place, shown);
  if (Node* old = parent.find(parts.back()))
    *old = std::move(value);
  else
    parent.map.push_back({parts.back(), place, std::move(value)});
}

}  // namespace

void apply_overrides(Node& root, const std::vector<std::string>& overrides) {
  if (root.kind == Node::Kind::kNull) root.kind = Node::Kind::kMap;
  for (size_t i = 0; i < overrides.size(); ++i) {
    const std::string& argument = overrides[i];
    if (!argument.starts_with('~') && argument.find('=') == std::string::npos)
      refuse_word(argument, i + 1 < overrides.size() ? overrides[i + 1] : "");
    apply(root, argument);
  }
}

}  // namespace roll
