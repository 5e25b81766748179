// From a member of a configuration to its key and place: checks name keys without repeating their spelling.
#pragma once

#include <map>
#include <string>
#include <typeindex>
#include <utility>

#include "config/read_context.h"
#include "config/walk.h"

namespace roll {

/// Valid while `config` stays where it is.
class KeyIndex {
 public:
  template <HasFields T>
  KeyIndex(T& config, std::map<std::string, SetKey> set, std::string origin)
      : set_(std::move(set)), origin_(std::move(origin)) {
    walk(config, [this](const KeyInfo& info, auto& member) { paths_[address(member)] = info.path; });
  }

  /// "actor_train.training_args.learning_rate". Bug when `member` is no key of the configuration.
  template <class M>
  const std::string& path(const M& member) const {
    return find(address(member));
  }

  template <class M>
  bool is_set(const M& member) const {
    return set_.contains(path(member));
  }

  /// Where the key was set, or the file alone.
  template <class M>
  Place place(const M& member) const {
    return place_of(path(member));
  }

  /// "rollout_batch_size = 96", with "(not set in the file)" when it was not.
  template <class M>
  std::string name(const M& member) const {
    return name_of(path(member), to_text(member));
  }

 private:
  using Address = std::pair<const void*, std::type_index>;

  template <class M>
  static Address address(const M& member) {
    return {&member, typeid(M)};
  }
  /// The value on one line.
  template <class M>
  static std::string to_text(const M& member);

  const std::string& find(const Address& address) const;
  Place place_of(const std::string& path) const;
  std::string name_of(const std::string& path, const std::string& value) const;

  std::map<Address, std::string> paths_;
  std::map<std::string, SetKey> set_;
  std::string origin_;
};

template <class M>
std::string KeyIndex::to_text(const M& member) {
  if constexpr (std::is_arithmetic_v<M> || std::is_same_v<M, std::string>) {
    return fmt::format("{}", member);
  } else if constexpr (IsWord<M>) {
    using roll::name_of;  // not the member function; a registry's own is found by its argument
    return std::string(name_of(member));
  } else if constexpr (requires { to_config_text(member); }) {
    return to_config_text(member);
  } else if constexpr (requires { member.has_value(); }) {
    return member ? to_text(*member) : "null";
  } else {
    return "...";
  }
}

}  // namespace roll
