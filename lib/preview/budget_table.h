// Which token budget to train with: plans, fill and memory of a handful of budgets.
#pragma once

#include <optional>

#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Fills `budgets` and `budget_rule`: sequence_length and its doubles up to where a single micro-batch holds
/// everything, and the configured budget; plans of actor_train's mini-batches of one step. Suggested is the largest
/// that fits `memory_bytes`, or without it the smallest whose fill is within 2 points of the best one's.
/// Without `models` no memory is given. UserError: `memory_bytes` asks for it all the same.
void add_budgets(PackReport& report, const Config& config, const std::optional<RoleShapes>& models,
                 const StepLengths& step, std::optional<double> memory_bytes);

}  // namespace roll
