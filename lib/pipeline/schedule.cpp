#include "pipeline/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "base/error.h"

namespace roll {

namespace {

/// Passes of one direction, in the order that all stages share. Chunks alternate after num_stages micro-batches; an
/// incomplete last round is padded, and padding is then left out, so nobody waits for it.
class PassOrder {
 public:
  PassOrder(const PipelineShape& shape, int64_t num_micro_batches)
      : shape_(shape),
        num_micro_batches_(num_micro_batches),
        micro_batches_per_round_(shape.num_stages),
        num_passes_((num_micro_batches + micro_batches_per_round_ - 1) / micro_batches_per_round_ *
                    micro_batches_per_round_ * shape.num_chunks) {}

  int64_t size() const { return num_passes_; }

  void add(int64_t k, bool is_forward, std::vector<PipelinePass>& passes) const {
    const int64_t passes_per_round = micro_batches_per_round_ * shape_.num_chunks,
                  chunk = k % passes_per_round / micro_batches_per_round_;
    const int64_t micro_batch = k / passes_per_round * micro_batches_per_round_ + k % micro_batches_per_round_;
    if (micro_batch < num_micro_batches_)
      passes.push_back({is_forward, micro_batch, is_forward ? chunk : shape_.num_chunks - 1 - chunk});
  }

 private:
  PipelineShape shape_;
  int64_t num_micro_batches_, micro_batches_per_round_, num_passes_;
};

/// Returns the number of forwards before a stage's first backward.
int64_t forwards_ahead(int64_t stage, const PipelineShape& shape) {
  const int64_t behind = shape.num_stages - 1 - stage;
  return shape.num_chunks == 1 ? behind : 2 * behind + (shape.num_chunks - 1) * shape.num_stages;
}

}  // namespace

std::vector<PipelinePass> one_forward_one_backward(int64_t stage, const PipelineShape& shape,
                                                   int64_t num_micro_batches) {
  const PassOrder order(shape, num_micro_batches);
  const int64_t ahead = forwards_ahead(stage, shape);
  std::vector<PipelinePass> passes;
  for (int64_t k = 0; k < order.size() + ahead; ++k) {
    if (k < order.size()) order.add(k, /*is_forward=*/true, passes);
    if (k >= ahead) order.add(k - ahead, /*is_forward=*/false, passes);
  }
  return passes;
}

std::vector<PipelinePass> forwards(const PipelineShape& shape, int64_t num_micro_batches) {
  const PassOrder order(shape, num_micro_batches);
  std::vector<PipelinePass> passes;
  for (int64_t k = 0; k < order.size(); ++k) order.add(k, /*is_forward=*/true, passes);
  return passes;
}

double max_in_flight(int64_t stage, const PipelineShape& shape) {
  return static_cast<double>(forwards_ahead(stage, shape) + 1) / static_cast<double>(shape.num_chunks);
}

double pipeline_seconds(const std::vector<double>& busy_s, double num_passes) {
  const double most = std::ranges::max(busy_s), all = std::reduce(busy_s.begin(), busy_s.end());
  return most + (all - most) / std::max(num_passes, 1.0);
}

double idle_share(const PipelineShape& shape, int64_t num_micro_batches,
                  const std::vector<std::vector<double>>& seconds) {
  const int64_t num_parts = shape.num_stages * shape.num_chunks;
  std::vector<std::vector<PipelinePass>> passes;
  for (int64_t s = 0; s < shape.num_stages; ++s)
    passes.push_back(one_forward_one_backward(s, shape, num_micro_batches));
  std::map<std::tuple<bool, int64_t, int64_t>, double> ended;  // by direction, part and micro-batch: end time
  std::vector<size_t> next(shape.num_stages);
  std::vector<double> free_at(shape.num_stages);
  double busy = 0;
  /// Runs a stage's next pass if its input is there; returns true if so.
  const auto advances = [&](int64_t s) {
    if (next[s] == passes[s].size()) return false;
    const auto [is_forward, k, chunk] = passes[s][next[s]];
    const int64_t part = chunk * shape.num_stages + s;
    double start_s = free_at[s];
    if (part != (is_forward ? 0 : num_parts - 1)) {
      const auto source = ended.find({is_forward, is_forward ? part - 1 : part + 1, k});
      if (source == ended.end()) return false;
      start_s = std::max(start_s, source->second);
    }
    const double duration_s = seconds[s][next[s]++];
    busy += duration_s;
    free_at[s] = ended[{is_forward, part, k}] = start_s + duration_s;
    return true;
  };
  for (bool progressed = true; progressed;) {
    progressed = false;
    for (int64_t s = 0; s < shape.num_stages; ++s)
      while (advances(s)) progressed = true;
  }
  for (int64_t s = 0; s < shape.num_stages; ++s) ROLL_CHECK_EQ(next[s], passes[s].size(), "no stage waits for ever");
  const double end = std::ranges::max(free_at);
  return end == 0 ? 0 : 1 - busy / (static_cast<double>(shape.num_stages) * end);
}

double bubble_share(const PipelineShape& shape, int64_t num_micro_batches) {
  const auto idle = static_cast<double>(shape.num_stages - 1);
  return idle / (static_cast<double>(shape.num_chunks * num_micro_batches) + idle);
}

}  // namespace roll
