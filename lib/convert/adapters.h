// Converts LoRA settings of other trainers to roll's model_args.lora_*, for the converters of all trainers.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "convert/table.h"

namespace roll {

/// Names of the source trainer's keys for LoRA. Each has a kCombined row (table.h), which holds the trainer's default.
struct AdapterKeys {
  std::string rank, alpha;
  std::string targets;    // modules that get an adapter
  std::string dropout;    // empty: the trainer has no such key
  std::string in_4_bits;  // boolean: the frozen weights are 4-bit; empty: the trainer has no such key
};

/// Returns true if the value of the key named `rank_key` (or its default) is a number other than 0. Throws UserError if
/// it is neither empty nor a number.
bool asks_for_rank(const Conversion& c, const std::string& rank_key);
/// If `wanted` (the training uses adapters), sets model_args.lora_* (and quantise_base for 4-bit weights) of `roles`,
/// such as {"actor_train"}. Throws UserError for an invalid number, for a pattern as target module, and for 4-bit
/// weights without adapters.
void set_adapters(Conversion& c, std::initializer_list<const char*> roles, const AdapterKeys& keys, bool wanted);
/// Splits a list at brackets, quotes, commas and blanks: "[q_proj, 'v_proj']" -> {"q_proj", "v_proj"}.
std::vector<std::string> split_entries(const std::string& list);

}  // namespace roll
