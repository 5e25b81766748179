#include "settings/config_change.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <vector>

#include "config/node.h"
#include "config/walk.h"
#include "config/yaml.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"
#include "settings/sft_config.h"

namespace roll {

namespace {

using Path = std::vector<std::string>;

Path parts_of_path(const std::string& path) {
  Path parts;
  std::istringstream in(path);
  for (std::string part; std::getline(in, part, '.');) parts.push_back(part);
  return parts;
}

/// Returns the keys that have the rule.
template <HasFields... T>
std::vector<Path> list_paths(bool KeyInfo::*rule) {
  std::vector<Path> paths;
  const auto add = [&](const KeyInfo& info, const AnyMember&) {
    if (info.*rule) paths.push_back(parts_of_path(info.path));
  };
  (walk(T(), WalkDepth::kExamples, add), ...);
  return paths;
}

/// Returns true if the key, or a group around it, may change. `<name>` in a path is any entry of a map.
bool is_free(const std::string& key) {
  constexpr auto kList = list_paths<Config, SftConfig, DpoConfig, DistillConfig>;
  static const std::vector<Path> kFree = kList(&KeyInfo::may_change), kFixed = kList(&KeyInfo::must_stay);
  const Path path = parts_of_path(key);
  const auto is_in = [&](const std::vector<Path>& paths) {
    return std::ranges::any_of(paths, [&](const Path& known) {
      const auto is_same = [](const std::string& a, const std::string& b) { return a == "<name>" || a == b; };
      return known.size() <= path.size() && std::ranges::equal(known, std::span(path).first(known.size()), is_same);
    });
  };
  return is_in(kFree) && !is_in(kFixed);
}

using Flat = std::map<std::string, std::string>;

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
