// Selects the responses on the report page: the most informative groups of some steps, with a few responses each. A run
// samples gigabytes, and the page must open fast. The page mentions omissions.
#pragma once

#include <cstdint>
#include <vector>

#include "report/run_record.h"

namespace roll {

constexpr size_t kShownSteps = 24;
constexpr size_t kShownMixedGroups = 2;
constexpr size_t kShownResponses = 8;  // per group
constexpr size_t kShownTokens = 4000;  // per response with per-token values
constexpr size_t kShownValidations = 6;
constexpr size_t kShownPrompts = 4;  // per fate, shared by the domains; at least one per domain

/// Returns the first, the last and at most `max_steps` evenly spread `available` steps, all of `wanted`, and the
/// available ones of `informative_steps`. Ascending.
std::vector<int64_t> chosen_steps(const std::vector<int64_t>& available, const std::vector<int64_t>& wanted,
                                  const std::vector<int64_t>& informative_steps, size_t max_steps);

/// Returns page data: [{"step", "groups": [{"why", "prompt", "mean", "responses": [...]}]}]; unreadable lines are
/// counted in `run.notes`. `wanted`: steps that the user asked for. UserError: the run has no rollouts of a wanted
/// step.
Json shown_responses(RunRecord& run, const std::vector<int64_t>& wanted);

/// Returns page data: {"validations": [steps], "counts": {fate: prompts}, "prompts": [{"fate", "prompt", "truth",
/// "domain", "answers": [{"step", "score", "finish", "text"}]}]}; no prompts if the run has no validation. A prompt's
/// fate compares its first response in the first and the last validation: "learnt", "lost", "wrong" or "right". A score
/// of 1 or more is right.
Json shown_validation(RunRecord& run);

}  // namespace roll
