#include "settings/key_lists.h"

#include <algorithm>

#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"
#include "settings/sft_config.h"

namespace roll {

std::vector<SharedKey> command_keys(const std::string& command) {
  if (command == "sft") return shared_keys(key_entries(SftConfig()));
  if (command == "dpo") return shared_keys(key_entries(DpoConfig()));
  if (command == "distill") return shared_keys(key_entries(DistillConfig()));
  return shared_keys(key_entries(Config()));
}

std::vector<CommandKeys> keys_by_command() {
  std::vector<CommandKeys> all;
  for (const char* command : {"train", "sft", "dpo", "distill"}) all.push_back({command, command_keys(command)});
  return all;
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
