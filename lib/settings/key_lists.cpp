#include "settings/key_lists.h"

#include <algorithm>
#include <iterator>

#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

std::vector<SharedKey> rlvr_keys() {
  return shared_keys(key_entries<Config>());
}

std::vector<SharedKey> sft_keys() {
  return shared_keys(key_entries<SftConfig>());
}

std::vector<SharedKey> dpo_keys() {
  return shared_keys(key_entries<DpoConfig>());
}

std::vector<SharedKey> distill_keys() {
  return shared_keys(key_entries<DistillConfig>());
}

std::vector<SharedKey> all_keys() {
  std::vector<SharedKey> keys = rlvr_keys(), others = sft_keys();
  std::ranges::move(dpo_keys(), std::back_inserter(others));
  std::ranges::move(distill_keys(), std::back_inserter(others));
  for (const SharedKey& key : others) {
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
