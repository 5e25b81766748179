#include "checkpoint/name_prefix.h"

#include <algorithm>

namespace roll {

namespace {

std::string with_prefix(const std::vector<NamePrefix>& prefixes, std::string NamePrefix::*from,
                        std::string NamePrefix::*to, const std::string& name) {
  const auto found = std::ranges::find_if(prefixes, [&](const NamePrefix& p) { return name.starts_with(p.*from); });
  return found == prefixes.end() ? name : (*found).*to + name.substr(((*found).*from).size());
}

}  // namespace

std::string known_name(const std::vector<NamePrefix>& prefixes, const std::string& name) {
  if (std::ranges::any_of(prefixes, [&](const NamePrefix& p) { return name.starts_with(p.known); })) return name;
  return with_prefix(prefixes, &NamePrefix::in_folder, &NamePrefix::known, name);
}

std::string folder_name(const std::vector<NamePrefix>& prefixes, const std::string& name) {
  return with_prefix(prefixes, &NamePrefix::known, &NamePrefix::in_folder, name);
}

}  // namespace roll
