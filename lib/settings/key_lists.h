// All keys of a configuration.
#pragma once

#include <string>
#include <vector>

#include "config/key_reference.h"

namespace roll {

/// Of each command that runs a pipeline: "train", "sft", "dpo", "distill".
struct CommandKeys {
  std::string command;
  std::vector<SharedKey> keys;
};
std::vector<CommandKeys> keys_by_command();
/// Of one of these.
std::vector<SharedKey> keys_of(const std::string& command);
/// Of all, what they say alike once.
std::vector<SharedKey> all_keys();

}  // namespace roll
