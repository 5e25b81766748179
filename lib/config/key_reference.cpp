#include "config/key_reference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "base/html.h"
#include "base/nearest.h"
#include "config/node.h"
#include "config/writer.h"

namespace roll {

namespace {

constexpr const char* kFirstVersion = "0.1";

bool is_idle(const KeyEntry& entry) {
  return entry.kind == KeyEntry::Kind::kNoted || entry.kind == KeyEntry::Kind::kRefused;
}

/// Splits a path into "actor_train" and "training_args.learning_rate"; the role is empty for a top-level key.
std::pair<std::string, std::string> role_and_rest(const std::string& path) {
  size_t dot = path.find('.');
  if (path.starts_with("rewards.")) dot = path.find('.', dot + 1);
  const bool is_entry_of_list = path.substr(0, dot).ends_with(']');
  if (dot == std::string::npos || is_entry_of_list) return {"", path};
  return {path.substr(0, dot), path.substr(dot + 1)};
}

/// Returns the meaning and allowed values of a key; for a noted or refused key, the reason.
std::string describe_meaning(const KeyEntry& entry) {
  switch (entry.kind) {
    case KeyEntry::Kind::kNoted:
      return "has no effect: " + entry.meaning;
    case KeyEntry::Kind::kRefused:
      return "refused, unless null, false or empty: " + entry.meaning;
    case KeyEntry::Kind::kGroup:
      return entry.meaning;
    case KeyEntry::Kind::kKey:
      break;
  }
  return entry.meaning + (entry.allowed.empty() ? "" : fmt::format(" [{}]", entry.allowed));
}

std::string text_row(const SharedKey& key) {
  const std::string name = key.entry.path + (key.entry.kind == KeyEntry::Kind::kKey ? ": " + key.entry.value : "");
  const std::string roles = key.roles.empty() ? "" : fmt::format("  ({})", fmt::join(key.roles, ", "));
  return fmt::format("{:<56} {}{}\n", name, describe_meaning(key.entry), roles);
}

/// Escapes bars, which would end the cell.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) cell += c == '|' ? std::string("\\|") : std::string(1, c);
  return cell;
}

std::vector<std::string> row_cells(const SharedKey& key) {
  return {key.entry.path,
          fmt::format("{}", fmt::join(key.roles, ", ")),
          key.entry.type,
          key.entry.value,
          describe_meaning(key.entry),
          key.entry.since};
}

std::string table_row(const SharedKey& key, KeyFormat format) {
  if (format == KeyFormat::kText) return text_row(key);
  std::string row = format == KeyFormat::kHtml ? "<tr>" : "|";
  for (const std::string& cell : row_cells(key))
    row += format == KeyFormat::kHtml ? fmt::format("<td>{}</td>", escaped_html(cell))
                                      : fmt::format(" {} |", markdown_cell(cell));
  return row + (format == KeyFormat::kHtml ? "</tr>\n" : "\n");
}

std::string table_head(KeyFormat format) {
  switch (format) {
    case KeyFormat::kText:
      return "";
    case KeyFormat::kMarkdown:
      return "| key | role | type | default | meaning | since |\n|---|---|---|---|---|---|\n";
    case KeyFormat::kHtml:
      return "<table>\n<tr><th>key</th><th>role</th><th>type</th><th>default</th><th>meaning</th><th>since</th></tr>\n";
  }
  return "";
}

/// True if `asked` equals the last parts of `path`. In `path`, "<name>" matches any part, and "pipe_*" a prefix.
bool ends_with_key(const std::string& path, const std::string& asked) {
  const auto known_parts = path_parts(path), asked_parts = path_parts(asked);
  return asked_parts.size() <= known_parts.size() &&
         std::equal(asked_parts.rbegin(), asked_parts.rend(), known_parts.rbegin(),
                    [](const std::string& part, const std::string& known) {
                      if (known == "<name>") return true;
                      if (!known.ends_with('*')) return part == known;
                      return part.starts_with(known.substr(0, known.size() - 1));
                    });
}

bool is_asked_for(const SharedKey& key, const std::string& asked) {
  if (key.roles.empty()) return ends_with_key(key.entry.path, asked);
  return std::ranges::any_of(
      key.roles, [&](const std::string& role) { return ends_with_key(role + "." + key.entry.path, asked); });
}

std::string key_paragraph(const SharedKey& key) {
  std::string text = key.name() + "\n";
  if (key.entry.kind == KeyEntry::Kind::kKey)
    text += fmt::format("  {}; default {}\n", key.entry.type, key.entry.value);
  return text + fmt::format("  {}\n  since {}\n", describe_meaning(key.entry), key.entry.since);
}

/// Returns the type of a value in words.
std::string type_words(const MemberType& type) {
  if (type.shape == MemberType::Shape::kOptional) return type_words(*type.inner) + ", or null";
  if (type.shape == MemberType::Shape::kList) return "list: " + type_words(*type.inner);
  if (type.id == typeid(bool)) return "true or false";
  if (type.id == typeid(int64_t)) return "integer";
  if (type.id == typeid(double)) return "number";
  return type.words().empty() ? "text" : "word";
}

KeyEntry make_entry(const KeyInfo& info, const AnyMember& member) {
  static constexpr std::string_view kSince = "; since ";
  const size_t since = info.doc.rfind(kSince);
  const bool is_younger = since != std::string::npos;
  const bool has_value = info.kind == KeyEntry::Kind::kKey;
  const auto words = member.type ? member.words() : std::vector<std::string>();
  return {.kind = info.kind,
          .path = info.path,
          .type = has_value ? type_words(*member.type) : "",
          .value = has_value ? yaml_value(member) : "",
          .allowed = words.empty() ? info.range.brief() : fmt::format("{}", fmt::join(words, " | ")),
          .meaning = info.doc.substr(0, since),
          .since = is_younger ? info.doc.substr(since + kSince.size()) : kFirstVersion};
}

}  // namespace

std::vector<KeyEntry> key_entries(const AnyMember& example) {
  std::vector<KeyEntry> entries;
  walk(example, WalkDepth::kExamples,
       [&](const KeyInfo& info, const AnyMember& member) { entries.push_back(make_entry(info, member)); });
  return entries;
}

std::vector<std::string> SharedKey::paths() const {
  if (roles.empty()) return {entry.path};
  std::vector<std::string> paths;
  for (const std::string& role : roles) paths.push_back(role + "." + entry.path);
  return paths;
}

std::string SharedKey::name() const {
  return roles.empty() ? entry.path : fmt::format("{}: {}", fmt::join(roles, ", "), entry.path);
}

std::vector<SharedKey> shared_keys(const std::vector<KeyEntry>& entries) {
  std::vector<SharedKey> keys;
  std::multimap<std::string, size_t> by_path;  // path -> index in `keys`
  for (KeyEntry entry : entries) {
    std::string role;
    std::tie(role, entry.path) = role_and_rest(entry.path);
    const auto [first, last] = by_path.equal_range(entry.path);
    const auto same = std::find_if(first, last, [&](const auto& shared) {
      return keys[shared.second].entry == entry && keys[shared.second].roles.empty() == role.empty();
    });
    if (same == last) {
      by_path.emplace(entry.path, keys.size());
      keys.push_back({entry, {}});
    }
    SharedKey& key = same == last ? keys.back() : keys[same->second];
    if (!role.empty()) key.roles.push_back(role);
  }
  return keys;
}

std::vector<SharedKey> keys_with(std::string_view pattern, std::vector<SharedKey> keys) {
  const std::string wanted = lower_ascii(pattern);
  std::erase_if(keys, [&](const SharedKey& key) {
    return lower_ascii(key.name()).find(wanted) == std::string::npos &&
           lower_ascii(key.entry.meaning).find(wanted) == std::string::npos;
  });
  return keys;
}

std::string key_table(const std::vector<SharedKey>& keys, KeyFormat format, bool with_idle) {
  std::string active_rows = table_head(format), idle_rows;
  for (const SharedKey& key : keys) (is_idle(key.entry) ? idle_rows : active_rows) += table_row(key, format);
  if (with_idle) active_rows += idle_rows;
  return active_rows + (format == KeyFormat::kHtml ? "</table>\n" : "");
}

std::string explain_key(std::string_view key, const std::vector<SharedKey>& keys) {
  const std::string asked(key);
  std::string text;
  std::vector<std::string> names;
  for (const SharedKey& shared : keys) {
    if (is_asked_for(shared, asked)) text += (text.empty() ? "" : "\n") + key_paragraph(shared);
    const std::string& path = shared.entry.path;
    names.push_back(path.substr(path.rfind('.') + 1));
  }
  if (text.empty())
    throw user_error("{}: no such key{}", asked, did_you_mean(asked.substr(asked.rfind('.') + 1), names));
  return text;
}

}  // namespace roll
