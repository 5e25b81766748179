// How a step's values spread: counts in bins whose edges never change, so that ranks, steps and runs add up. Bins are
// 0.1 wide between -2 and 2, and a twentieth of the value beyond. They travel as metrics, "histogram/<name>/<bin>@sum",
// and are written to a file of their own, because a bin is no curve.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>

#include "base/json.h"
#include "track/metrics.h"

namespace roll {

/// A line for each step that has some: {"step": 12, "rewards": ..., ...}.
constexpr const char* kHistogramFile = "histograms.jsonl";

/// The values of a tensor of any shape; what is not finite is in no bin.
void add_histogram(const std::string& name, const at::Tensor& values, Metrics& metrics);

/// Takes the bins out of a step's values: {"rewards": [[low, high, count], ...], ...}, bins ascending, empty ones left
/// out. At most 601 of each, and seldom 60.
Json take_histograms(MetricValues& values);

}  // namespace roll
