// Histograms of a step's values. Bin edges are fixed, so that counts of ranks, steps and runs can be added. Bins are
// 0.1 wide in [-2, 2] and about 5 % of the value outside. Counts travel as metrics "histogram/<name>/<bin>@sum". They
// go to a file of their own, since single bins are useless as curves.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/json.h"
#include "track/metrics.h"

namespace roll {

/// One line per step that has histograms: {"step": 12, "rewards": ..., ...}.
constexpr const char* kHistogramFile = "histograms.jsonl";

/// Adds the values of a tensor of any shape; non-finite values are skipped.
void add_histogram(const std::string& name, const at::Tensor& values, Metrics& metrics);

/// Moves the bins out of a step's values: {"rewards": [[low, high, count], ...], ...}. Bins ascend; empty ones are
/// omitted. At most 601 bins per name, rarely 60.
Json take_histograms(MetricValues& values);

}  // namespace roll
