#include "pipeline/schedule.h"

#include <algorithm>

namespace roll {

std::vector<PipelinePass> one_forward_one_backward(int64_t stage, int64_t num_stages, int64_t num_micro_batches) {
  const int64_t ahead = std::min(num_stages - 1 - stage, num_micro_batches);
  std::vector<PipelinePass> passes;
  for (int64_t k = 0; k < num_micro_batches + ahead; ++k) {
    if (k < num_micro_batches) passes.push_back({true, k});
    if (k >= ahead) passes.push_back({false, k - ahead});
  }
  return passes;
}

double bubble_share(int64_t num_stages, int64_t num_micro_batches) {
  const auto idle = static_cast<double>(num_stages - 1);
  return idle / (static_cast<double>(num_micro_batches) + idle);
}

}  // namespace roll
