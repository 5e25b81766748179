#include "config/defaults.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "config/yaml.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr int kMaxNesting = 10;

/// Adds the keys of `defaults` that `target` lacks, recursively in groups.
void add_missing_keys(Node& target, const Node& defaults) {
  for (const MapEntry& entry : defaults.map) {
    Node* const existing = target.find(entry.key);
    if (!existing)
      target.map.push_back(entry);
    else if (existing->kind == Node::Kind::kMap && entry.value.kind == Node::Kind::kMap)
      add_missing_keys(*existing, entry.value);
  }
}

/// Returns the file that an entry of the list names; empty if it does not exist.
fs::path find_listed_file(const std::string& entry, const fs::path& folder) {
  const size_t separator = entry.find('@');
  const std::string package = separator == std::string::npos ? "_here_" : entry.substr(separator + 1);
  if (package != "_here_" && package != "_global_") return {};
  fs::path file = folder / entry.substr(0, separator);
  if (file.extension() != ".yaml") file += ".yaml";
  return is_there(file) ? file.lexically_normal() : fs::path();
}

void merge(Node& root, const std::string& origin, int depth, std::vector<std::string>& notes) {
  const Node* const list = root.find("defaults");
  if (!list || list->kind != Node::Kind::kList) return;
  if (depth > kMaxNesting)
    throw user_error("{}: defaults: the files include each other more than {} levels deep; remove one", origin,
                     kMaxNesting);
  const std::vector<Node> entries = list->list;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->kind != Node::Kind::kScalar) continue;
    const fs::path file = find_listed_file(entry->text, fs::path(origin).parent_path());
    if (file.empty()) continue;
    Node defaults = parse_yaml(read_file(file), file.string());
    if (defaults.kind != Node::Kind::kMap) continue;
    merge(defaults, file.string(), depth + 1, notes);
    notes.push_back("defaults: " + file.string() + " was read");
    add_missing_keys(root, defaults);
  }
}

}  // namespace

void merge_defaults(Node& root, const std::string& origin, std::vector<std::string>& notes) {
  if (root.kind == Node::Kind::kMap) merge(root, origin, 0, notes);
}

}  // namespace roll
