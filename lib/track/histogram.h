// Histograms of a step's values. Bin edges are fixed, so that counts of ranks, steps and runs can be added. Bins are
// 0.1 wide in [-2, 2] and about 5 % of the value outside. Counts are reduced over ranks as metrics
// "histogram/<name>/<bin>@sum". The Tracker then writes them to histograms.jsonl, since single bins are useless as
// curves.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/json.h"
#include "track/metrics.h"

namespace roll {

/// File beside metrics.jsonl: a line per step that has histograms, {"step": 12, "rewards": [[low, high, count], ...]}.
constexpr const char* kHistogramFile = "histograms.jsonl";

/// Counts the elements of a tensor of any shape in `metrics`, under the histogram `name`; non-finite elements are
/// skipped.
void add_histogram(const std::string& name, const at::Tensor& values, Metrics& metrics);

/// Removes the counts from a step's reduced metrics and returns them as {"rewards": [[low, high, count], ...], ...}.
/// Bins ascend; empty bins are omitted. There are at most 601 bins per name, and rarely more than 60.
Json take_histograms(MetricValues& metrics);

}  // namespace roll
