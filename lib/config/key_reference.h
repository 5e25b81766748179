// The reference of all keys, made of their fields(): as tables, and as the explanation of one key.
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
  std::string type;     // "number"; of a key
  std::string value;    // its default, as YAML writes it; of a key
  std::string allowed;  // "round | square", "[0, 1]"; empty: any
  std::string meaning;  // or the reason why it means nothing here, or is refused
  std::string since;    // "0.2": the version that brought it

  bool operator==(const KeyEntry&) const = default;
};

/// All keys of a group of default values in the order in which they are declared, a group before its keys. A key that
/// is younger than the program says so at the end of its line: "...; since 0.2".
std::vector<KeyEntry> key_entries(const AnyMember& example);

/// A key that several roles have with the same meaning: "training_args.learning_rate" of actor_train and critic.
struct SharedKey {
  KeyEntry entry;                  // its path is the end that all have
  std::vector<std::string> roles;  // "actor_train", "rewards.<name>"; empty: of the configuration itself

  std::string name() const;                // "actor_train, critic: training_args.learning_rate"
  std::vector<std::string> paths() const;  // "actor_train.training_args.learning_rate", "critic. ..."
};
/// In the order in which the first of each was declared. A role is a group at the top level, or an entry of `rewards`.
std::vector<SharedKey> shared_keys(const std::vector<KeyEntry>& entries);

/// The keys whose name or meaning holds `pattern`, in upper or lower case; all where it is empty.
std::vector<SharedKey> keys_with(std::string_view pattern, std::vector<SharedKey> keys);

enum class KeyFormat { kText, kMarkdown, kHtml };
/// `with_idle`: keys without a meaning here, and refused ones, too.
std::string key_table(const std::vector<SharedKey>& keys, KeyFormat format, bool with_idle);

/// What `key` says, which may be the end of a path: one paragraph for each thing that it may be. UserError: no key ends
/// so; with the nearest.
std::string explain_key(std::string_view key, const std::vector<SharedKey>& keys);

}  // namespace roll
