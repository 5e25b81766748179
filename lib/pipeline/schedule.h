// When a stage of a pipeline does which pass, as plain data. One forward, one backward (PipeDream-flush, Narayanan et
// al. 2021): a stage begins with as many forwards as there are stages behind it, then alternates, then ends with the
// backwards that are left. So it never has more than that many micro-batches, and one, under way. Interleaved stages
// (ibid., section 2.2) have several chunks of the layers: as many micro-batches as there are stages go through one
// chunk before they go through the next, a stage begins with two passes for each stage behind it and those of all its
// chunks but one, and the bubble is divided by the number of chunks.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

struct PipelineShape {
  int64_t num_stages = 1, num_chunks = 1;  // `num_chunks`: of each stage
};

struct PipelinePass {
  bool is_forward = true;
  int64_t micro_batch = 0, chunk = 0;
  bool operator==(const PipelinePass&) const = default;
};

/// What a stage does, in this order. Of a single stage: each forward is followed by its backward.
std::vector<PipelinePass> one_forward_one_backward(int64_t stage, const PipelineShape& shape,
                                                   int64_t num_micro_batches);

/// The forwards alone, on every stage.
std::vector<PipelinePass> forwards(const PipelineShape& shape, int64_t num_micro_batches);

/// Micro-batches, at most, that are through all chunks of a stage, or as many passes of some, before their backward.
double most_under_way(int64_t stage, const PipelineShape& shape);

/// Share of an update in which a stage has nothing to do, where passes of all micro-batches and stages take as long:
/// (p - 1) / (v m + p - 1), at least.
double bubble_share(const PipelineShape& shape, int64_t num_micro_batches);

/// Seconds of passes of all micro-batches, `num_passes` of a stage in one direction, where stage s has busy_s[s] of
/// them to do: the busiest one works all the time but for the first micro-batch's way through all others.
double pipeline_seconds(const std::vector<double>& busy_s, double num_passes);

/// Share of an update in which stages have nothing to do, where seconds[s][i] is what the i-th pass of stage s takes
/// and what one stage has computed is with the next one at once.
double idle_share(const PipelineShape& shape, int64_t num_micro_batches,
                  const std::vector<std::vector<double>>& seconds);

}  // namespace roll
