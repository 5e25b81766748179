// Lines of a run's files, as the page shows them: what cannot be read is counted, not fatal.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "records/rollout_record.h"
#include "report/run_record.h"

namespace roll {

constexpr size_t kShownBytes = 4000;  // of a text; its middle is left out

/// Calls `take` for each line that is JSON; what is not, or what it does not understand, is counted in `run.notes`.
void read_lines(RunRecord& run, const std::filesystem::path& file, const std::function<void(Json)>& take);

/// The records of a step ("step_") or a validation ("val_"), sorted, without baselines.
std::vector<RolloutRecord> records_of(RunRecord& run, const std::filesystem::path& folder, const std::string& prefix,
                                      int64_t number);

/// The text, or of a long one [begin, bytes left out, end].
Json shown_text(const std::string& text);

}  // namespace roll
