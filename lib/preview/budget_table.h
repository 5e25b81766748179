// Compares a handful of token budgets for `roll pack-stats`: micro-batch plans, fill and memory.
#pragma once

#include <optional>

#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Fills `budgets` and `budget_rule` for actor_train's mini-batches of one step. Candidates are the configured budget,
/// sequence_length and its doublings, until one micro-batch holds everything. Suggests the largest budget that fits
/// `memory_bytes`, or without it the smallest with a fill within 2 points of the best. Memory is unset without
/// `models`. UserError: `memory_bytes` is set without `models`.
void add_budgets(PackReport& report, const Config& config, const std::optional<RoleShapes>& models,
                 const StepLengths& step, std::optional<double> memory_bytes);

}  // namespace roll
