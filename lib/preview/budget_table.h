// Compares a few token budgets (tokens per training micro-batch) for `roll pack-stats`: micro-batches, fill and memory.
#pragma once

#include <optional>

#include "packing/report.h"
#include "preview/length_sources.h"
#include "settings/config.h"
#include "settings/memory_estimate.h"

namespace roll {

/// Fills report.budgets and report.budget_rule for actor_train's first mini-batches of `step`. It compares up to 10
/// budgets: the configured one, sequence_length (or a longer sequence of the step) and its doublings, until one
/// micro-batch holds a rank's mini-batch. It suggests the largest budget with which training fits into `memory_bytes`
/// per rank. If that is unset, it suggests the smallest budget whose fill is within 2 percentage points of the best.
/// `models`: shapes by role; unset: the rows have no memory. Throws UserError if `memory_bytes` is set without
/// `models`.
void add_budgets(PackReport& report, const Config& config, const std::optional<RoleShapes>& models,
                 const StepLengths& step, std::optional<double> memory_bytes);

}  // namespace roll
