// Which responses of a run the page shows: of some steps those groups that tell most, of each some responses. A run
// samples gigabytes, and a page has to open at once; what is left out is said there.
#pragma once

#include <cstdint>
#include <vector>

#include "report/run_record.h"

namespace roll {

constexpr size_t kShownSteps = 24;
constexpr size_t kShownMixedGroups = 2;
constexpr size_t kShownResponses = 8;  // of a group
constexpr size_t kShownTokens = 4000;  // of a response with numbers per token
constexpr size_t kShownValidations = 6;
constexpr size_t kShownPrompts = 4;  // of each fate, shared by the domains; of each domain at least one

/// At most `most` of the `available` steps, spread evenly, and beside them the first, the last, those of `wanted` and
/// those of `telling` that are available. Ascending.
std::vector<int64_t> chosen_steps(const std::vector<int64_t>& available, const std::vector<int64_t>& wanted,
                                  const std::vector<int64_t>& telling, size_t most);

/// For the page: [{"step", "groups": [{"why", "prompt", "mean", "responses": [...]}]}], and in `run.notes` what could
/// not be read. `wanted`: steps that someone asked for. UserError: the run has no rollouts of one of these.
Json shown_responses(RunRecord& run, const std::vector<int64_t>& wanted);

/// For the page: {"validations": [steps], "counts": {fate: prompts}, "prompts": [{"fate", "prompt", "truth", "domain",
/// "answers": [{"step", "score", "finish", "text"}]}]}; no prompts where the run has not validated. The fate of a
/// prompt is how its first response was judged in the first and in the last validation: "learnt", "lost", "wrong" or
/// "right"; right is a score of 1 or more.
Json shown_validation(RunRecord& run);

}  // namespace roll
