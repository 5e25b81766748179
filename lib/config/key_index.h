// Maps a member of a configuration to its key and place, so that checks (checker.h) need not repeat a key's spelling.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "config/member.h"
#include "config/read_context.h"

namespace roll {

/// Index of a configuration's members. `config` must not move while the index is used.
class KeyIndex {
 public:
  KeyIndex(const AnyMember& config, std::map<std::string, SetKey> set, std::string origin);

  /// Returns the key's path: "actor_train.training_args.learning_rate". Bug: `member` has no key.
  const std::string& key(const Address& member) const { return find(member).path; }
  bool is_set(const Address& member) const { return set_.contains(key(member)); }
  const AnyMember& member(const Address& address) const { return find(address).member; }
  /// Returns the place that set the key, or only the file if it was not set.
  Place place(const Address& member) const;
  /// Returns "rollout_batch_size = 96" for messages, with "(not set in the file)" if the key was not set.
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
