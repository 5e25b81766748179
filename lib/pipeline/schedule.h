// When a stage of a pipeline does which pass, as plain data. One forward, one backward (PipeDream-flush, Narayanan et
// al. 2021): a stage begins with as many forwards as there are stages behind it, then alternates, then ends with the
// backwards that are left. So it never has more than that many micro-batches, and one, under way.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

struct PipelinePass {
  bool is_forward = true;
  int64_t micro_batch = 0;
  bool operator==(const PipelinePass&) const = default;
};

/// What stage `stage` of `num_stages` does, in this order. Of a single stage: each forward is followed by its backward.
std::vector<PipelinePass> one_forward_one_backward(int64_t stage, int64_t num_stages, int64_t num_micro_batches);

/// Share of an update in which a stage has nothing to do, where passes of all micro-batches and stages take as long:
/// (p - 1) / (m + p - 1).
double bubble_share(int64_t num_stages, int64_t num_micro_batches);

}  // namespace roll
