// LoRA of other trainers as model_args.lora_* of ours.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "convert/table.h"

namespace roll {

/// Their keys, whose rows are kCombined and hold their defaults; empty: they have none.
struct AdapterKeys {
  std::string rank, alpha, targets, dropout, in_4_bits;
};

/// Whether the key says a rank of more than 0.
bool asks_for_rank(const Conversion& c, const std::string& rank);
/// Adapters of what `roles` train where they are `wanted`. UserError: a number that is none, a pattern as target, a
/// quantised base without adapters.
void set_adapters(Conversion& c, std::initializer_list<const char*> roles, const AdapterKeys& keys, bool wanted);
/// What a list in brackets, or separated by commas or blanks, holds.
std::vector<std::string> entries_of(const std::string& list);

}  // namespace roll
