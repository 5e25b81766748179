#include "report/settings_table.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/yaml.h"
#include "settings/key_lists.h"

namespace roll {

namespace {

/// Returns the value without quotes: the default may be quoted where the written value is not.
std::string plain_text(const Node& node) {
  return node.kind == Node::Kind::kScalar ? node.text : flow_text(node);
}

/// Adds every value except mappings, under its path.
void add_leaves(const Node& node, const std::string& path, std::vector<Setting>& settings) {
  if (node.kind != Node::Kind::kMap || node.map.empty()) {
    const bool is_empty = node.kind != Node::Kind::kScalar && node.list.empty();  // equals the default
    settings.push_back({path, plain_text(node), is_empty ? std::optional(plain_text(node)) : std::nullopt});
    return;
  }
  for (const MapEntry& entry : node.map)
    add_leaves(entry.value, path.empty() ? entry.key : path + "." + entry.key, settings);
}

std::map<std::string, std::string> default_values(const std::vector<SharedKey>& keys) {
  std::map<std::string, std::string> defaults;
  for (const SharedKey& key : keys) {
    if (key.entry.kind != KeyEntry::Kind::kKey) continue;
    for (const std::string& path : key.paths()) defaults[path] = key.entry.value;
  }
  return defaults;
}

/// Returns the key as the table of defaults has it: a user-chosen reward name becomes <name>.
std::string table_key(const std::string& key) {
  constexpr std::string_view kRewards = "rewards.";
  const size_t end = key.find('.', kRewards.size());
  if (!key.starts_with(kRewards) || end == key.npos) return key;
  return std::string(kRewards) + "<name>" + key.substr(end);
}

}  // namespace

std::vector<Setting> read_settings(const std::string& resolved, const std::string& origin) {
  const Node tree = parse_yaml(resolved, origin);
  const auto defaults = default_values(command_keys(tree.find("sft_train")    ? "sft"
                                                    : tree.find("student")    ? "distill"
                                                    : tree.find("chosen_key") ? "dpo"
                                                                              : "train"));
  std::vector<Setting> settings;
  add_leaves(tree, "", settings);
  for (Setting& setting : settings)
    if (const auto found = defaults.find(table_key(setting.key)); found != defaults.end())
      setting.default_value = plain_text(parse_yaml(found->second, setting.key, /*single_line=*/true));
  return settings;
}

const Setting* find_setting(const std::vector<Setting>& settings, const std::string& key) {
  const auto found = std::ranges::find(settings, key, &Setting::key);
  return found == settings.end() ? nullptr : &*found;
}

std::vector<Difference> differences(const std::vector<std::vector<Setting>>& runs) {
  std::vector<Difference> changed;
  std::set<std::string> seen;
  for (const auto& run_settings : runs)
    for (const Setting& setting : run_settings) {
      if (!seen.insert(setting.key).second) continue;
      Difference difference{setting.key, {}};
      for (const auto& other : runs) {
        const Setting* const found = find_setting(other, setting.key);
        difference.values.push_back(found ? std::optional(found->value) : std::nullopt);
      }
      const auto& first = difference.values.front();
      const auto is_first = [&](const auto& value) { return value == first; };
      if (!std::ranges::all_of(difference.values, is_first)) changed.push_back(std::move(difference));
    }
  return changed;
}

}  // namespace roll
