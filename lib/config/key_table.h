// The reference of all keys, generated from fields().
#pragma once

#include <set>
#include <typeindex>

#include "config/walk.h"
#include "config/writer.h"

namespace roll {

/// A row: key, what `value` says (": default" of a key, "" of a group), allowed values, meaning.
std::string key_row(const KeyInfo& info, const std::string& value);

/// A group whose keys depend on where it stands says so by `using VariesByPlace = void`.
template <class M>
concept VariesByPlace = requires {
  typename M::VariesByPlace;
};

/// Collects the rows; groups of a type that was shown before are not shown again, unless they vary.
class KeyTable {
 public:
  template <class M>
  bool operator()(const KeyInfo& info, M& member) {
    if constexpr (std::is_same_v<M, Noted>) {
      noted_ += key_row(info, "");
    } else if constexpr (std::is_same_v<M, Refused>) {
      refused_ += key_row(info, "");
    } else if constexpr (requires { yaml_scalar(member); }) {
      rows_ += key_row(info, ": " + yaml_scalar(member));
    } else {
      rows_ += key_row(info, "");
      return VariesByPlace<M> || shown_.insert(typeid(M)).second;
    }
    return true;
  }

  std::string text() const;

 private:
  std::string rows_, noted_, refused_;
  std::set<std::type_index> shown_;
};

/// Every key of T with default, allowed values and meaning, then the noted and the refused ones with the reason.
template <HasFields T>
std::string key_table() {
  T config;
  KeyTable table;
  walk(config, table, true);
  return table.text();
}

}  // namespace roll
