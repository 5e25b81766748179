// From a member of a configuration to its key and place: checks name keys without repeating their spelling.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "config/member.h"
#include "config/read_context.h"

namespace roll {

/// Valid while `config` stays where it is.
class KeyIndex {
 public:
  KeyIndex(const AnyMember& config, std::map<std::string, SetKey> set, std::string origin);

  /// "actor_train.training_args.learning_rate". Bug when `member` is no key of the configuration.
  const std::string& key(const Address& member) const { return find(member).path; }
  bool is_set(const Address& member) const { return set_.contains(key(member)); }
  const AnyMember& member(const Address& address) const { return find(address).member; }
  /// Where the key was set, or the file alone.
  Place place(const Address& member) const;
  /// "rollout_batch_size = 96", to name a second key in a rule; with "(not set in the file)" when it was not.
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
