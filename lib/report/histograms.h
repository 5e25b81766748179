// Histograms of rewards and advantages over a run's steps, for the page.
#pragma once

#include "report/run_record.h"

namespace roll {

/// Reads histograms.jsonl and merges neighbouring steps into at most `max_parts` parts: {"rewards": {"s": first steps,
/// "e": last steps, "b": [[[low, high, count], ...], ...]}, ...}; {} if the run has none. Malformed lines are skipped
/// and counted in the run's notes.
Json drawn_histograms(RunRecord& run, size_t max_parts);

}  // namespace roll
