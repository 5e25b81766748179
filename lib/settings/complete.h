// Fills keys that follow from others, for load_config(). Completing a complete configuration changes nothing.
#pragma once

#include "config/checker.h"
#include "settings/config.h"
#include "settings/distill_config.h"
#include "settings/dpo_config.h"

namespace roll {

void complete(Config& config, Checker& check);
/// Fills the folders of judging models from reward_pretrain, and max_new_tokens of a shared judge.
void complete_judging_models(Config& config);
void complete(RowConfig& config, Checker& check);
void complete(DpoConfig& config, Checker& check);
void complete(DistillConfig& config, Checker& check);

}  // namespace roll
