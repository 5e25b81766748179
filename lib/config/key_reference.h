// The reference of all keys, made of their fields(): as tables, and as the explanation of one key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/walk.h"
#include "config/writer.h"

namespace roll {

struct KeyEntry {
  enum class Kind { kKey, kGroup, kNoted, kRefused };
  Kind kind = Kind::kKey;
  std::string path;     // "actor_train.training_args.learning_rate", "rewards.<name>.type"
  std::string type;     // "number"; of a key
  std::string value;    // its default, as YAML writes it; of a key
  std::string allowed;  // "round | square", "[0, 1]"; empty: any
  std::string meaning;  // or the reason why it means nothing here, or is refused
  std::string since;    // "0.2": the version that brought it

  bool operator==(const KeyEntry&) const = default;
};

/// What a value is, in words.
template <class M>
struct TypeWords {
  static std::string text() { return WordsOf<M>::all().empty() ? "text" : "word"; }
};
template <>
struct TypeWords<bool> {
  static std::string text() { return "true or false"; }
};
template <>
struct TypeWords<int64_t> {
  static std::string text() { return "integer"; }
};
template <>
struct TypeWords<double> {
  static std::string text() { return "number"; }
};
template <class M>
struct TypeWords<std::optional<M>> {
  static std::string text() { return TypeWords<M>::text() + ", or null"; }
};
template <class M>
struct TypeWords<std::vector<M>> {
  static std::string text() { return "list: " + TypeWords<M>::text(); }
};
template <class M>
struct TypeWords<std::map<std::string, M>> {
  static std::string text() { return "map: " + TypeWords<M>::text(); }
};

/// An entry without type and default. A key that is younger than the program says so at the end of its line: "...;
/// since 0.2".
KeyEntry entry_of(const KeyInfo& info, KeyEntry::Kind kind);

/// All keys of T in the order in which they are declared, a group before its keys.
template <HasFields T>
std::vector<KeyEntry> key_entries() {
  std::vector<KeyEntry> entries;
  T config;
  walk(
      config,
      [&entries]<class M>(const KeyInfo& info, M& member) {
        if constexpr (std::is_same_v<M, Noted>) {
          entries.push_back(entry_of(info, KeyEntry::Kind::kNoted));
        } else if constexpr (std::is_same_v<M, Refused>) {
          entries.push_back(entry_of(info, KeyEntry::Kind::kRefused));
        } else if constexpr (requires { yaml_scalar(member); }) {
          entries.push_back(entry_of(info, KeyEntry::Kind::kKey));
          entries.back().type = TypeWords<M>::text();
          entries.back().value = yaml_scalar(member);
        } else {
          entries.push_back(entry_of(info, KeyEntry::Kind::kGroup));
        }
      },
      true);
  return entries;
}

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
