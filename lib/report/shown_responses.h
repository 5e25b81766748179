// Selects the responses shown on the page of `roll report`. A run samples gigabytes, but the page must open fast, so it
// shows some steps, the most informative groups of each step, and a few responses of each group. A group is all
// responses to one prompt.
#pragma once

#include <cstdint>
#include <vector>

#include "report/run_record.h"

namespace roll {

constexpr size_t kShownSteps = 24;       // evenly spread steps
constexpr size_t kShownMixedGroups = 2;  // per step: groups with good and bad responses, beside the best and the worst
constexpr size_t kShownResponses = 8;    // per group: half best, half worst; more if they have per-token values
constexpr size_t kShownTokens = 4000;    // per response with per-token values (step/token_samples.h)
constexpr size_t kShownValidations = 6;  // evenly spread validations
constexpr size_t kShownPrompts = 4;      // validation prompts per fate (shown_validation()), at least one per domain

/// Returns, ascending and without repeats: the first and last of `available`, at most `max_steps` others spread evenly,
/// all of `wanted`, and those `informative_steps` that are available. `available` must ascend.
std::vector<int64_t> chosen_steps(const std::vector<int64_t>& available, const std::vector<int64_t>& wanted,
                                  const std::vector<int64_t>& informative_steps, size_t max_steps);

/// Returns page data: {"available": number of steps with rollouts, "steps": [{"step", "num_groups", "groups": [{"why":
/// list of "mixed", "best", "worst"; "prompt", "mean", "responses", ...}]}]}. `wanted`: steps that the user requests in
/// addition to the chosen ones. Unreadable lines are counted in run.notes. Throws UserError if a wanted step has no
/// rollouts.
Json shown_responses(RunRecord& run, const std::vector<int64_t>& wanted);

/// Returns page data: {"validations": [steps], "counts": {fate: number of prompts}, "prompts": [{"fate", "prompt",
/// "truth", "domain", "answers": [{"step", "score", "finish", "text"}]}]}; all empty if the run has no validation. A
/// prompt's fate compares its first responses in the first and the last validation: "learnt" (wrong, then right),
/// "lost" (right, then wrong), "wrong" or "right" (both times). A score of 1 or more is right.
Json shown_validation(RunRecord& run);

}  // namespace roll
