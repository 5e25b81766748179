// Lists all keys of each command's configuration, for `roll keys`, `roll man`, completion and reports.
#pragma once

#include <string>
#include <vector>

#include "config/key_reference.h"

namespace roll {

/// Keys of one command. A SharedKey is one key with all roles (actor_train, critic, ...) that have it.
struct CommandKeys {
  std::string command;  // "train", "sft", "dpo" or "distill"
  std::vector<SharedKey> keys;
};
/// Returns an entry for each of the four commands, in this order.
std::vector<CommandKeys> keys_by_command();
/// Returns the keys of one command; for any other name, the keys of "train".
std::vector<SharedKey> command_keys(const std::string& command);
/// Returns the keys of all commands. A key that several commands declare equally appears once, with the roles of all.
std::vector<SharedKey> all_keys();

}  // namespace roll
