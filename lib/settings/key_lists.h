// Lists all keys of each command's configuration, for `roll keys`, `roll man`, completion and reports.
#pragma once

#include <string>
#include <vector>

#include "config/key_reference.h"

namespace roll {

/// Keys of a command that runs a pipeline: "train", "sft", "dpo", "distill".
struct CommandKeys {
  std::string command;
  std::vector<SharedKey> keys;
};
std::vector<CommandKeys> keys_by_command();
/// Returns the keys of one command; of "train" for an unknown name.
std::vector<SharedKey> command_keys(const std::string& command);
/// Returns the keys of all commands; a key with the same entry in several appears once, with all its roles.
std::vector<SharedKey> all_keys();

}  // namespace roll
