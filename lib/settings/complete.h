// Fills unset keys whose value follows from others (such as response_length from sequence_length), for load_config().
// Records contradictions in `check`. Completing a complete configuration changes nothing.
#pragma once

#include "config/checker.h"
#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

void complete(Config& config, Checker& check);
/// The part of complete() for models that judge responses: fills their folders from reward_pretrain, and max_new_tokens
/// of a shared judge.
void complete_judging_models(Config& config);
void complete(RowConfig& config, Checker& check);
void complete(DpoConfig& config, Checker& check);
void complete(DistillConfig& config, Checker& check);

}  // namespace roll
