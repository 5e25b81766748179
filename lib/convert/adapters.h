// Converts LoRA settings of other trainers to roll's model_args.lora_*.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "convert/table.h"

namespace roll {

/// Keys of the source trainer; their rows are kCombined and hold its defaults. Empty: it has no such key.
struct AdapterKeys {
  std::string rank, alpha, targets, dropout, in_4_bits;
};

/// Returns true if the key's value is a number other than 0.
bool asks_for_rank(const Conversion& c, const std::string& rank);
/// Sets the adapters of `roles` if `wanted`. UserError: an invalid number, a pattern as target, or a quantised base
/// without adapters.
void set_adapters(Conversion& c, std::initializer_list<const char*> roles, const AdapterKeys& keys, bool wanted);
/// Splits a list in brackets, or separated by commas or blanks.
std::vector<std::string> split_entries(const std::string& list);

}  // namespace roll
