#include "config/key_index.h"

#include <fmt/format.h>

#include "base/error.h"
#include "config/walk.h"

namespace roll {

KeyIndex::KeyIndex(const AnyMember& config, std::map<std::string, SetKey> set, std::string origin)
    : set_(std::move(set)), origin_(std::move(origin)) {
  walk(config, WalkDepth::kAll, [this](const KeyInfo& info, const AnyMember& member) {
    if (member.type) keys_.insert_or_assign(Address(member), Key{info.path, member});
  });
}

Place KeyIndex::place(const Address& member) const {
  const auto found = set_.find(key(member));
  return found == set_.end() ? Place{std::make_shared<const std::string>(origin_), 0, 0} : found->second.place;
}

std::string KeyIndex::name(const Address& member) const {
  const auto& [path, erased] = find(member);
  const auto found = set_.find(path);
  return found == set_.end() ? fmt::format("{} = {} (not set in the file)", path, erased.text())
                             : fmt::format("{} = {}", path, found->second.excerpt);
}

const KeyIndex::Key& KeyIndex::find(const Address& address) const {
  const auto found = keys_.find(address);
  ROLL_CHECK(found != keys_.end(), "only members that fields() declares have a key");
  return found->second;
}

}  // namespace roll
