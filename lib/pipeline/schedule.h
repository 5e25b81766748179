// Plans the order in which a pipeline stage computes its passes, and estimates idle time, from numbers alone. A chunk
// is a range of consecutive layers of a stage; a stage has one chunk, or several if stages are interleaved. A pass is
// the forward or backward of one micro-batch through one chunk. A micro-batch is in flight between its forward and its
// backward.
//
// One forward, one backward (PipeDream-flush, Narayanan et al. 2021): a stage begins with one forward per later stage,
// then alternates forwards and backwards, and ends with the remaining backwards. So the number of micro-batches in
// flight is at most the number of later stages plus one.
//
// Interleaved stages (ibid., section 2.2): num_stages micro-batches go through one chunk before they go through the
// next one. A stage begins with two forwards per later stage, plus num_stages for each of its chunks but one. The idle
// time is divided by the number of chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Size of a pipeline.
struct PipelineShape {
  int64_t num_stages = 1;
  int64_t num_chunks = 1;  // chunks of each stage
};

/// A pass of one stage.
struct PipelinePass {
  bool is_forward = true;              // false: backward
  int64_t micro_batch = 0, chunk = 0;  // numbers from 0; `chunk` counts the stage's own chunks
  bool operator==(const PipelinePass&) const = default;
};

/// Returns all passes of stage `stage` (from 0) in an update, in order. With a single stage and chunk, each forward is
/// followed by its backward.
std::vector<PipelinePass> one_forward_one_backward(int64_t stage, const PipelineShape& shape,
                                                   int64_t num_micro_batches);

/// Returns the passes of a stage for forwards without backwards, for example for log-probs. They are equal on every
/// stage.
std::vector<PipelinePass> forwards(const PipelineShape& shape, int64_t num_micro_batches);

/// Returns the largest number of micro-batches in flight in a stage during an update. A micro-batch in flight in one of
/// v chunks counts 1/v, so that activation memory is proportional to the number.
double max_in_flight(int64_t stage, const PipelineShape& shape);

/// Returns the share of an update in which a stage idles if all passes take equally long. It is (p - 1) / (v m + p - 1)
/// with p stages, v chunks and m micro-batches. If passes differ in time, the true share is larger.
double bubble_share(const PipelineShape& shape, int64_t num_micro_batches);

/// Returns the estimated seconds of an update in which stage s computes for busy_s[s] seconds, with `num_passes`
/// forwards and as many backwards. The busiest stage works all the time, except while the first pass goes through the
/// other stages.
double pipeline_seconds(const std::vector<double>& busy_s, double num_passes);

/// Returns the share of an update in which stages idle, from 0 to 1, averaged over stages. Simulates the update:
/// seconds[s][i] is the duration of pass i of one_forward_one_backward() on stage s, and transfers take no time.
/// Returns 0 if all durations are 0.
double idle_share(const PipelineShape& shape, int64_t num_micro_batches,
                  const std::vector<std::vector<double>>& seconds);

}  // namespace roll
