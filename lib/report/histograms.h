// Reads the histograms of rewards and advantages over a run's steps, for the page of `roll report`.
#pragma once

#include "report/run_record.h"

namespace roll {

/// Reads the run's histograms.jsonl and adds up neighbouring steps to at most `max_parts` histograms per name. Returns
/// {"rewards": {"s": first steps, "e": last steps, "b": histograms}, "advantages": ...} with one element per histogram
/// in each list. A histogram is [[low, high, count], ...]. A name without histograms is missing; {} if the file is
/// missing. Malformed lines are skipped and counted in run.notes.
Json drawn_histograms(RunRecord& run, size_t max_parts);

}  // namespace roll
