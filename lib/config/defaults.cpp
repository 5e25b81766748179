#include "config/defaults.h"

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "config/yaml.h"

namespace roll {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 10;

/// Adds the keys of `below` that `above` lacks, recursively in groups.
void put_below(Node& above, const Node& below) {
  for (const MapEntry& entry : below.map) {
    Node* const own = above.find(entry.key);
    if (!own)
      above.map.push_back(entry);
    else if (own->kind == Node::Kind::kMap && entry.value.kind == Node::Kind::kMap)
      put_below(*own, entry.value);
  }
}

/// Returns the file that an entry of the list names; empty if it does not exist.
fs::path file_of(const std::string& entry, const fs::path& folder) {
  const size_t at = entry.find('@');
  const std::string package = at == std::string::npos ? "_here_" : entry.substr(at + 1);
  if (package != "_here_" && package != "_global_") return {};
  fs::path file = folder / entry.substr(0, at);
  if (file.extension() != ".yaml") file += ".yaml";
  return is_there(file) ? file.lexically_normal() : fs::path();
}

void merge(Node& root, const std::string& origin, int depth, std::vector<std::string>& notes) {
  const Node* const list = root.find("defaults");
  if (!list || list->kind != Node::Kind::kList) return;
  if (depth > kDeepest)
    throw user_error("{}: defaults: files name each other more than {} deep; remove one", origin, kDeepest);
  const std::vector<Node> entries = list->list;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    if (entry->kind != Node::Kind::kScalar) continue;
    const fs::path file = file_of(entry->text, fs::path(origin).parent_path());
    if (file.empty()) continue;
    Node below = parse_yaml(read_file(file), file.string());
    if (below.kind != Node::Kind::kMap) continue;
    merge(below, file.string(), depth + 1, notes);
    notes.push_back("defaults: " + file.string() + " was read");
    put_below(root, below);
  }
}

}  // namespace

void merge_defaults(Node& root, const std::string& origin, std::vector<std::string>& notes) {
  if (root.kind == Node::Kind::kMap) merge(root, origin, 0, notes);
}

}  // namespace roll
