// Reference of all configuration keys for `roll keys` and `roll explain`, generated from fields() (config/keys.h):
// tables and explanations.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/walk.h"

namespace roll {

/// Facts about one key.
struct KeyEntry {
  using Kind = KeyInfo::Kind;
  Kind kind = Kind::kKey;
  std::string path;     // "actor_train.training_args.learning_rate", "rewards.<name>.type"
  std::string type;     // in words: "number", "list: text"; "" for other kinds than kKey
  std::string value;    // default value as YAML; "" for other kinds than kKey
  std::string allowed;  // allowed words or numbers: "round | square", "[0, 1]"; "" if any value of the type is allowed
  std::string meaning;  // doc text; for kNoted and kRefused, the reason
  std::string since;    // version that introduced the key: "0.2"

  bool operator==(const KeyEntry&) const = default;
};

/// Returns all keys of `example`, a configuration with default values, in the order of declaration, a group before its
/// keys. KeyEntry::since is taken from the end of the doc text, "; since 0.2"; it is 0.1 for others.
std::vector<KeyEntry> key_entries(const AnyMember& example);

/// A key that several roles share with the same meaning: "training_args.learning_rate" of actor_train and critic.
struct SharedKey {
  KeyEntry entry;                  // entry.path: the path without the role
  std::vector<std::string> roles;  // "actor_train", "rewards.<name>"; empty: a top-level key

  /// Returns "actor_train, critic: training_args.learning_rate".
  std::string name() const;
  /// Returns the key's path in each role: "actor_train.training_args.learning_rate", "critic.training_args. ...".
  std::vector<std::string> paths() const;
};
/// Merges keys that are equal except for their role, in the order of their first declaration. A role is a group at the
/// top level, or an entry of `rewards`.
std::vector<SharedKey> shared_keys(const std::vector<KeyEntry>& entries);

/// Returns those of `keys` whose name() or meaning contains the text `pattern`, ignoring case; all if it is empty.
std::vector<SharedKey> keys_with(std::string_view pattern, std::vector<SharedKey> keys);

enum class KeyFormat { kText, kMarkdown, kHtml };
/// Returns the keys as a table. With `with_idle`, lists noted and refused keys (config/keys.h) at the end, too.
std::string key_table(const std::vector<SharedKey>& keys, KeyFormat format, bool with_idle);

/// Returns a paragraph for each of `keys` that matches `key`, a path or the last parts of one ("learning_rate"). Throws
/// UserError if none matches; the message suggests the nearest.
std::string explain_key(std::string_view key, const std::vector<SharedKey>& keys);

}  // namespace roll
