// What became of the validation's prompts: of some prompts, the first response of each validation.
#pragma once

#include "report/run_record.h"

namespace roll {

constexpr size_t kShownValidations = 6;
constexpr size_t kShownPrompts = 4;  // of each fate, shared by the domains; of each domain at least one

/// For the page: {"validations": [steps], "counts": {fate: prompts}, "prompts": [{"fate", "prompt", "truth", "domain",
/// "answers": [{"step", "score", "finish", "text"}]}]}; no prompts where the run has not validated. The fate of a
/// prompt is how its first response was judged in the first and in the last validation: "learnt", "lost", "wrong" or
/// "right"; right is a score of 1 or more.
Json shown_validation(RunRecord& run);

}  // namespace roll
