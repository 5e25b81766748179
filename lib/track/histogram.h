// Makes histograms of a step's values, such as rewards. Bin edges are fixed, so that counts of ranks, steps and runs
// can be added: bins are 0.1 wide in [-2, 2], and about 5 % of the value outside. Counts travel as metrics
// "histogram/<name>/<bin>@sum", which are summed over ranks like others. The Tracker takes them out again and writes
// them to histograms.jsonl, since single bins are useless as curves.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/json.h"
#include "track/metrics.h"

namespace roll {

/// File beside metrics.jsonl: a line per step that has histograms, {"step": 12, "rewards": [[low, high, count], ...]}.
constexpr const char* kHistogramFile = "histograms.jsonl";

/// Adds the elements of a tensor of any shape, dtype and device to the histogram `name` in `metrics`; non-finite
/// elements are skipped.
void add_histogram(const std::string& name, const at::Tensor& values, Metrics& metrics);

/// Removes all histograms from a step's reduced metrics and returns them as {"rewards": [[low, high, count], ...],
/// ...}, with the bins [low, high). Bins ascend; empty bins are omitted. There are at most 601 bins per name, and
/// rarely more than 60.
Json take_histograms(MetricValues& metrics);

}  // namespace roll
