#include "settings/key_lists.h"

#include <algorithm>

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

std::vector<CommandKeys> keys_by_command() {
  return {{"train", rlvr_keys()}, {"sft", sft_keys()}, {"dpo", dpo_keys()}, {"distill", distill_keys()}};
}

std::vector<SharedKey> all_keys() {
  std::vector<SharedKey> all;
  for (const auto& [command, keys] : keys_by_command())
    for (const SharedKey& key : keys) {
      const auto same = std::ranges::find(all, key.entry, &SharedKey::entry);
      if (same == all.end())
        all.push_back(key);
      else
        for (const std::string& role : key.roles)
          if (std::ranges::find(same->roles, role) == same->roles.end()) same->roles.push_back(role);
    }
  return all;
}

}  // namespace roll
