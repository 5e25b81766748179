// Histograms of rewards and advantages over a run's steps, for the page.
#pragma once

#include "report/run_record.h"

namespace roll {

/// From histograms.jsonl: {"rewards": {"s": first steps, "e": last steps, "b": [[[low, high, count], ...], ...]}, ...},
/// neighbouring steps together in at most `most` parts; {} where the run has none. What is no line of histograms is
/// left out and named in the run's notes.
Json drawn_histograms(RunRecord& run, size_t most);

}  // namespace roll
