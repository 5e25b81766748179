#include "config/key_index.h"

#include "base/error.h"

namespace roll {

const std::string& KeyIndex::find(const Address& address) const {
  const auto found = paths_.find(address);
  ROLL_CHECK(found != paths_.end(), "only members that fields() declares have a key");
  return found->second;
}

Place KeyIndex::place_of(const std::string& path) const {
  const auto found = set_.find(path);
  return found == set_.end() ? Place{std::make_shared<const std::string>(origin_), 0, 0} : found->second.place;
}

std::string KeyIndex::name_of(const std::string& path, const std::string& value) const {
  const auto found = set_.find(path);
  return found == set_.end() ? fmt::format("{} = {} (not set in the file)", path, value)
                             : fmt::format("{} = {}", path, found->second.excerpt);
}

}  // namespace roll
