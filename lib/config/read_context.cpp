#include "config/read_context.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/nearest.h"
#include "config/scalar.h"
#include "config/secret.h"

namespace roll {

void NotedKeys::add(const std::string& path, const std::string& reason) {
  auto& paths = paths_[reason];
  if (paths.empty()) reasons_.push_back(reason);
  paths.push_back(path);
}

namespace {

/// Lists keys, each once: "reward_norm, flash_attn (in actor_train.model_args and 2 more)".
std::string list_keys(const std::vector<std::string>& paths) {
  std::vector<std::pair<std::string, std::vector<std::string>>> keys_with_groups;
  std::map<std::string, size_t> index;
  for (const std::string& path : paths) {
    const size_t dot = path.rfind('.');
    const std::string key = dot == std::string::npos ? path : path.substr(dot + 1);
    const auto [found, is_new] = index.emplace(key, keys_with_groups.size());
    if (is_new) keys_with_groups.push_back({key, {}});
    if (dot != std::string::npos) keys_with_groups[found->second].second.push_back(path.substr(0, dot));
  }
  std::string text;
  for (const auto& [key, groups] : keys_with_groups) {
    text += text.empty() ? key : ", " + key;
    if (groups.size() == 1) text += fmt::format(" (in {})", groups[0]);
    if (groups.size() > 1) text += fmt::format(" (in {} and {} more)", groups[0], groups.size() - 1);
  }
  return text;
}

}  // namespace

std::string NotedKeys::text(const std::string& origin) const {
  std::string text = origin + ": these keys have no effect here:";
  for (const std::string& reason : reasons_) text += fmt::format("\n  {}: {}", list_keys(paths_.at(reason)), reason);
  return text;
}

std::string shown_value(const std::string& path, const Node& node) {
  const bool is_shown = !names_secret(path) || node.kind == Node::Kind::kNull || !node.env_text.empty();
  return is_shown ? excerpt(node) : to_config_text(Secret{"any"});
}

bool ReadContext::is_foreign(const std::string& path) const {
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    if (foreign_structs.contains(path.substr(0, dot))) return true;
  return false;
}

void ReadContext::complain_foreign(const Node& node, const std::string& path, const std::string& rule) {
  complain(node, path, rule);
  foreign_structs.insert(path.substr(0, path.rfind('.')));
}

void ReadContext::complain(const Node& node, const std::string& path, const std::string& rule) {
  if (is_foreign(path)) return;
  // Values from the environment are never shown, because they may be secret.
  const char* const origin = node.env_text.empty() ? "" : "; the value comes from the environment; change the variable";
  complaints.add(node.place, fmt::format("{} = {}: {}{}", path, shown_value(path, node), rule, origin));
}

void ReadContext::complain_unknown(const MapEntry& entry, const std::string& prefix,
                                   const std::vector<std::string>& known) {
  if (is_foreign(prefix)) return;
  constexpr size_t kMostAdvised = 100;  // later errors get no advice: it takes a millisecond, and few errors are shown
  const bool is_advised = complaints.size() < kMostAdvised;
  const std::vector<std::string> elsewhere =
      find_paths && is_advised ? find_paths(entry.key) : std::vector<std::string>();
  std::string advice = foreign_advice && is_advised ? foreign_advice(entry.key) : "";
  if (advice.empty() && is_advised) advice = did_you_mean(entry.key, known);
  if (entry.key.find(':') != std::string::npos) {
    advice = "; a space is missing after its ':'";
  } else if (!elsewhere.empty()) {
    const size_t shown = std::min<size_t>(elsewhere.size(), 3);
    advice = fmt::format("; it belongs at {}{}", fmt::join(elsewhere.begin(), elsewhere.begin() + shown, " or "),
                         elsewhere.size() > shown ? fmt::format(" (or {} more)", elsewhere.size() - shown) : "");
  } else if (advice.empty()) {
    advice = "; `roll keys` lists all keys";
  }
  Node key;
  key.kind = Node::Kind::kScalar;
  key.text = entry.key;
  complaints.add(entry.place, fmt::format("{}{}: unknown key{}", prefix, excerpt(key), advice));
}

bool matches(const std::string& key, const char* pattern) {
  const std::string_view text = pattern;
  return text.ends_with('*') ? key.starts_with(text.substr(0, text.size() - 1)) : key == text;
}

bool is_off_value(const Node& node, bool one_is_off) {
  switch (node.kind) {
    case Node::Kind::kNull:
      return true;
    case Node::Kind::kList:
      return node.list.empty();
    case Node::Kind::kMap:
      return node.map.empty();
    case Node::Kind::kScalar:
      break;
  }
  if (node.text.empty() || parse_bool(node.text) == false) return true;
  const auto number = parse_number(node.text);
  return number && (*number == 0 || (one_is_off && *number == 1));
}

}  // namespace roll
