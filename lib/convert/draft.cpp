#include "convert/draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "config/writer.h"
#include "config/yaml.h"

namespace roll {

namespace {

constexpr size_t kCommentColumn = 56;

/// Quotes a value unless YAML reads it back unchanged; it may hold anything from another trainer's file.
std::string value_text(const std::string& value) {
  try {
    const Node line = parse_yaml("key: " + value, "value", /*single_line=*/true);
    const bool is_single_key = line.kind == Node::Kind::kMap && line.map.size() == 1 && value.find('\n') == value.npos;
    if (is_single_key) {
      const Node& node = line.map[0].value;
      if (node.kind != Node::Kind::kScalar || node.text == value) return value;
      if (value.starts_with('"') || value.starts_with('\'')) return value;
    }
  } catch (const UserError&) {
  }
  return quoted_yaml(value);
}

/// Returns YAML lines for `keys`, whose paths share a prefix of `prefix_length` characters that is already written.
std::string yaml_lines(const std::vector<DraftKey>& keys, size_t prefix_length, int indent) {
  std::string plain, groups;
  std::vector<std::string> written_groups;
  for (const DraftKey& key : keys) {
    const std::string rest = key.path.substr(prefix_length);
    const size_t dot = rest.find('.');
    if (dot == std::string::npos) {
      const std::string line = fmt::format("{:{}}{}: {}", "", indent, rest, value_text(key.value));
      plain += key.origin.empty() ? line + "\n" : fmt::format("{:<{}}  # {}\n", line, kCommentColumn, key.origin);
      continue;
    }
    const std::string group = rest.substr(0, dot + 1);
    if (std::ranges::find(written_groups, group) != written_groups.end()) continue;
    written_groups.push_back(group);
    std::vector<DraftKey> members;
    for (const DraftKey& other : keys)
      if (other.path.compare(prefix_length, group.size(), group) == 0) members.push_back(other);
    groups += fmt::format("{}{:{}}{}:\n{}", indent == 0 ? "\n" : "", "", indent, group.substr(0, dot),
                          yaml_lines(members, prefix_length + group.size(), indent + 2));
  }
  return plain + groups;
}

}  // namespace

void Draft::set(const std::string& path, const std::string& value, const std::string& origin) {
  const auto known = std::ranges::find(keys_, path, &DraftKey::path);
  if (known == keys_.end())
    keys_.push_back({path, value, origin});
  else {
    known->value = value;
    known->origin = origin;
  }
}

const DraftKey* Draft::find(const std::string& path) const {
  const auto known = std::ranges::find(keys_, path, &DraftKey::path);
  return known == keys_.end() ? nullptr : &*known;
}

void Draft::remove(const std::string& path) {
  std::erase_if(keys_, [&](const DraftKey& key) { return key.path == path; });
}

void Draft::rename(const std::string& from, const std::string& to) {
  for (DraftKey& key : keys_)
    if (key.path.starts_with(from)) key.path.replace(0, from.size(), to);
}

std::vector<std::string> Draft::paths() const {
  std::vector<std::string> paths;
  for (const DraftKey& key : keys_) paths.push_back(key.path);
  return paths;
}

std::string Draft::yaml() const {
  return yaml_lines(keys_, 0, 0);
}

}  // namespace roll
