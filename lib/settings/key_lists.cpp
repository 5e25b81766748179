#include "settings/key_lists.h"

#include <algorithm>

#include "settings/config.h"
#include "settings/sft_config.h"

namespace roll {

std::vector<SharedKey> rlvr_keys() {
  return shared_keys(key_entries<Config>());
}

std::vector<SharedKey> sft_keys() {
  return shared_keys(key_entries<SftConfig>());
}

std::vector<SharedKey> all_keys() {
  std::vector<SharedKey> keys = rlvr_keys();
  for (const SharedKey& key : sft_keys()) {
    const auto same = std::ranges::find(keys, key.entry, &SharedKey::entry);
    if (same == keys.end())
      keys.push_back(key);
    else
      for (const std::string& role : key.roles)
        if (std::ranges::find(same->roles, role) == same->roles.end()) same->roles.push_back(role);
  }
  return keys;
}

}  // namespace roll
