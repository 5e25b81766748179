#include "preview/update_traffic.h"

#include <algorithm>

#include "model/parameter_parts.h"
#include "optim/learner.h"
#include "optim/own_part.h"

namespace roll {

namespace {

constexpr int64_t kGradient_bytes = 4;  // float32, whatever the weights are

}  // namespace

UpdateTraffic::UpdateTraffic(const Config& config, const WorkerConfig& worker,
                             const std::vector<ParameterShape>& parameters, int64_t shards, int64_t element, Path path)
    : loss_mask_keys_(config.loss.loss_mask_keys),
      shares_(worker.strategy_args.strategy_config.use_distributed_optimizer),
      element_(element),
      path_(path) {
  const int64_t tp = worker.strategy_args.strategy_config.tensor_parallel();
  for (int64_t rank = 0; rank < tp; ++rank) {
    Own& own = of_tensor_rank_.emplace_back();
    int64_t total = 0;
    for (const ParameterShape& parameter : parameters) {
      if (is_frozen(parameter.name, worker.model_args.freeze_module_prefix)) continue;
      own.parts.push_back(own_part(parameter, rank, tp));
      own.whole.push_back(part_of(parameter.cut, rank, tp).dim < 0 ? 0 : own_part(parameter, 0, 1).numel);
      total += own.parts.back().numel;
    }
    own.layout = plan_flat_layout(own.parts, shares_ ? shards : 1, bucket_elements_for(total));
  }
}

void UpdateTraffic::sum_copies(PhaseTraffic& traffic, const Group& tp, const Own& own, const Bucket& bucket) const {
  const auto is_whole = [&](int64_t i) { return own.whole[i] == 0; };
  if (std::ranges::all_of(bucket.members, is_whole)) return traffic.all_reduce(tp, path_, bucket.size, kGradient_bytes);
  for (const int64_t i : bucket.members)
    traffic.all_reduce(tp, path_, is_whole(i) ? own.parts[i].numel : own.whole[i], kGradient_bytes);
}

void UpdateTraffic::add(PhaseTraffic& traffic, const TrainerGroups& groups, int64_t num_groups) const {
  const Own& own = of_tensor_rank_[groups.tp.own.index];
  // Counts of the masks, the loss, the norm, and how long the others worked.
  traffic.all_reduce(groups.dp, Path::kHost, std::ssize(loss_mask_keys_) * (2 + num_groups), kNumberBytes);
  traffic.all_reduce(groups.dp, Path::kHost, 1, kNumberBytes);
  if (shares_) traffic.all_reduce(groups.shards, Path::kHost, 1, kNumberBytes);
  traffic.all_reduce(groups.tp, Path::kHost, 1, kNumberBytes);
  traffic.all_reduce(groups.all, Path::kHost, 1, kNumberBytes, 2);
  for (const Bucket& bucket : own.layout.buckets) {
    if (bucket.copies > 1) sum_copies(traffic, groups.tp, own, bucket);
    if (!shares_) {
      traffic.all_reduce(groups.shards, path_, bucket.size, kGradient_bytes);
      continue;
    }
    traffic.reduce_scatter(groups.shards, path_, bucket.size * kGradient_bytes);
    traffic.all_gather(groups.shards, path_, bucket.size * element_ / groups.shards.own.size);
  }
}

}  // namespace roll
