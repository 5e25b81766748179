// Plans the passes of a pipeline stage as plain data. One forward, one backward (PipeDream-flush, Narayanan et al.
// 2021): a stage begins with one forward per later stage, then alternates, and ends with the remaining backwards. So
// its micro-batches in flight never exceed that number plus one. Interleaved stages (ibid., section 2.2) have several
// chunks of layers: num_stages micro-batches go through one chunk before the next chunk. A stage begins with two passes
// per later stage, plus num_stages for each of its chunks but one. The bubble shrinks by the number of chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

struct PipelineShape {
  int64_t num_stages = 1, num_chunks = 1;  // num_chunks: per stage
};

struct PipelinePass {
  bool is_forward = true;
  int64_t micro_batch = 0, chunk = 0;
  bool operator==(const PipelinePass&) const = default;
};

/// Returns a stage's passes in order. With a single stage, each forward is followed by its backward.
std::vector<PipelinePass> one_forward_one_backward(int64_t stage, const PipelineShape& shape,
                                                   int64_t num_micro_batches);

/// Returns the forwards alone; equal on every stage.
std::vector<PipelinePass> forwards(const PipelineShape& shape, int64_t num_micro_batches);

/// Returns the maximum micro-batches in flight in a stage (between forward and backward); a pass through one of v
/// chunks counts 1/v.
double max_in_flight(int64_t stage, const PipelineShape& shape);

/// Returns the minimum share of an update in which a stage idles, if all passes take equally long: (p - 1) / (v m + p -
/// 1).
double bubble_share(const PipelineShape& shape, int64_t num_micro_batches);

/// Returns the seconds of all passes, `num_passes` per stage and direction, if stage s is busy for busy_s[s] in all.
/// The busiest stage works all the time, except while the first micro-batch goes through the others.
double pipeline_seconds(const std::vector<double>& busy_s, double num_passes);

/// Returns the share of an update in which stages idle, where seconds[s][i] is the time of stage s's i-th pass, and
/// transfers take no time.
double idle_share(const PipelineShape& shape, int64_t num_micro_batches,
                  const std::vector<std::vector<double>>& seconds);

}  // namespace roll
