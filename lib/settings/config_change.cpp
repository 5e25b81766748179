#include "settings/config_change.h"

#include <map>
#include <set>

#include "config/node.h"
#include "config/walk.h"
#include "config/yaml.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

namespace {

template <HasFields... T>
std::set<std::string> collect_free_keys() {
  std::set<std::string> names;
  const auto add = [&](const KeyInfo& info, const AnyMember&) {
    if (info.may_change) names.insert(info.key);
  };
  (walk(T(), WalkDepth::kExamples, add), ...);
  return names;
}

/// Returns the names of keys that may change. A name frees a key wherever it occurs in the path, so a group's name
/// frees the whole group.
const std::set<std::string>& free_keys() {
  static const std::set<std::string> kKeys = collect_free_keys<Config, SftConfig, DpoConfig, DistillConfig>();
  return kKeys;
}

using Flat = std::map<std::string, std::string>;

bool is_free(const std::string& key) {
  size_t begin = 0;
  while (begin <= key.size()) {
    const size_t end = std::min(key.find('.', begin), key.size());
    if (free_keys().contains(key.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

void flatten(const Node& node, const std::string& key, Flat& flat) {
  if (node.kind != Node::Kind::kMap) {
    flat[key] = flow_text(node);
    return;
  }
  for (const MapEntry& entry : node.map) flatten(entry.value, key.empty() ? entry.key : key + "." + entry.key, flat);
}

std::string find_value(const Flat& flat, const std::string& key) {
  const auto found = flat.find(key);
  return found == flat.end() ? "" : found->second;
}

}  // namespace

std::vector<ConfigChange> config_changes(const std::string& before, const std::string& origin, const std::string& now) {
  Flat old_values, new_values;
  flatten(parse_yaml(before, origin), "", old_values);
  flatten(parse_yaml(now, "the configuration"), "", new_values);
  std::set<std::string> keys;
  for (const Flat* flat : {&old_values, &new_values})
    for (const auto& [key, value] : *flat) keys.insert(key);
  std::vector<ConfigChange> changes;
  for (const std::string& key : keys) {
    const std::string old_value = find_value(old_values, key), new_value = find_value(new_values, key);
    if (old_value == new_value || is_free(key)) continue;
    changes.push_back({key, old_value, new_value});
  }
  return changes;
}

}  // namespace roll
