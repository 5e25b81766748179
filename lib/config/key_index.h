// Maps a member of a configuration struct to its key and the key's place in the file. Thus checks (checker.h) name a
// key by its member and need not repeat its spelling.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "config/member.h"
#include "config/read_context.h"

namespace roll {

/// Index of a configuration's members. All functions throw Bug if the given member has no key.
class KeyIndex {
 public:
  /// `config`: the configuration, any struct with fields(), which converts to AnyMember. It must not move while the
  /// index is used, because members are found by their addresses. `set` holds the keys that the file and overrides set,
  /// by path; `origin` is the file's name (both from LoadedKeys in load.h).
  KeyIndex(const AnyMember& config, std::map<std::string, SetKey> set, std::string origin);

  /// Returns the key's path: "actor_train.training_args.learning_rate".
  const std::string& key(const Address& member) const { return find(member).path; }
  /// Returns true if the file or an override set the key.
  bool is_set(const Address& member) const { return set_.contains(key(member)); }
  /// Returns the member at `address`, with access to its value.
  const AnyMember& member(const Address& address) const { return find(address).member; }
  /// Returns the place of the key's value: file, line and column, or the command line for an override. If the key was
  /// not set, it is a Place with only the file's name.
  Place place(const Address& member) const;
  /// Returns how messages name the key, which is path and value: "rollout_batch_size = 96". For a default it is
  /// "rollout_batch_size = 64 (not set in the file)". The path alone is key().
  std::string name(const Address& member) const;

 private:
  struct Key {
    std::string path;
    AnyMember member;
  };
  const Key& find(const Address& address) const;

  std::map<Address, Key> keys_;
  std::map<std::string, SetKey> set_;
  std::string origin_;
};

}  // namespace roll
