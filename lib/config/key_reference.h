// Reference of all configuration keys for `roll keys`, generated from fields(): tables and explanations of keys.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/walk.h"

namespace roll {

struct KeyEntry {
  using Kind = KeyInfo::Kind;
  Kind kind = Kind::kKey;
  std::string path;     // "actor_train.training_args.learning_rate", "rewards.<name>.type"
  std::string type;     // "number"; only for kKey
  std::string value;    // default value as YAML; only for kKey
  std::string allowed;  // "round | square", "[0, 1]"; empty: any
  std::string meaning;  // for kNoted and kRefused: the reason
  std::string since;    // "0.2": version that introduced the key

  bool operator==(const KeyEntry&) const = default;
};

/// Returns all keys of a group of default values in declaration order, a group before its keys. A key newer than 0.1
/// ends its doc text with "; since 0.2".
std::vector<KeyEntry> key_entries(const AnyMember& example);

/// A key that several roles share with the same meaning: "training_args.learning_rate" of actor_train and critic.
struct SharedKey {
  KeyEntry entry;                  // entry.path: the path without the role
  std::vector<std::string> roles;  // "actor_train", "rewards.<name>"; empty: a top-level key

  std::string name() const;                // "actor_train, critic: training_args.learning_rate"
  std::vector<std::string> paths() const;  // "actor_train.training_args.learning_rate", "critic. ..."
};
/// Merges equal keys of several roles, in the order of their first declaration. A role is a group at the top level, or
/// an entry of `rewards`.
std::vector<SharedKey> shared_keys(const std::vector<KeyEntry>& entries);

/// Returns the keys whose name or meaning contains `pattern`, ignoring case; all if it is empty.
std::vector<SharedKey> keys_with(std::string_view pattern, std::vector<SharedKey> keys);

enum class KeyFormat { kText, kMarkdown, kHtml };
/// Returns the keys as a table. `with_idle`: also lists noted and refused keys, at the end.
std::string key_table(const std::vector<SharedKey>& keys, KeyFormat format, bool with_idle);

/// Returns the explanation of `key`, a path or the end of one, with a paragraph per match. UserError: no key matches;
/// it suggests the nearest.
std::string explain_key(std::string_view key, const std::vector<SharedKey>& keys);

}  // namespace roll
