// Fills unset keys whose value follows from others, such as response_length from sequence_length. load_checked()
// (loading.h) calls complete() after parsing and before the checks. Contradictions are recorded in `check`. Completing
// a complete configuration changes nothing.
#pragma once

#include "config/checker.h"
#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

/// Completes the configuration of `roll train`.
void complete(Config& config, Checker& check);
/// The part of complete() for models that judge responses: fills their folders from reward_pretrain, and max_new_tokens
/// of a shared judge.
void complete_judging_models(Config& config);
/// Complete the configurations of `roll sft`, `roll dpo` and `roll distill`.
void complete(RowConfig& config, Checker& check);
void complete(DpoConfig& config, Checker& check);
void complete(DistillConfig& config, Checker& check);

}  // namespace roll
