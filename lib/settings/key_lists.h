// All keys of a configuration.
#pragma once

#include <string>
#include <vector>

#include "config/key_reference.h"

namespace roll {

/// Of `roll train`, `roll sft`, `roll dpo` and `roll distill`.
std::vector<SharedKey> rlvr_keys();
std::vector<SharedKey> sft_keys();
std::vector<SharedKey> dpo_keys();
std::vector<SharedKey> distill_keys();
/// Of each command that runs a pipeline: "train", "sft", "dpo", "distill".
struct CommandKeys {
  std::string command;
  std::vector<SharedKey> keys;
};
std::vector<CommandKeys> keys_by_command();
/// Of all, what they say alike once.
std::vector<SharedKey> all_keys();

}  // namespace roll
