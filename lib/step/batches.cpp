#include "step/batches.h"

#include <algorithm>

#include "base/error.h"
#include "base/random.h"
#include "packing/alignment.h"

namespace roll {

namespace {

std::vector<int64_t> pick(const std::vector<int64_t>& values, const std::vector<int64_t>& indices) {
  std::vector<int64_t> picked;
  for (const int64_t i : indices) picked.push_back(values[i]);
  return picked;
}

}  // namespace

// linear * s + attention * s^2 through the model's own formula at two lengths.
Workload workload_of(const ModelSpec& spec) {
  const double at_1 = spec.forward_flops(1, 1), at_2 = spec.forward_flops(2, 2);
  const double attention = (at_2 - 2 * at_1) / 2;
  return {.linear = at_1 - attention, .attention = attention};
}

BatchRule batch_rule(const WorkerConfig& worker, Stage stage, const Workload& workload) {
  const PackingArgs& args = worker.packing;
  const SequencePackingArgs& packing = args.sequence_packing_args;
  const bool trains = stage == Stage::kTrain;
  BatchRule rule;
  rule.workload = workload;
  rule.num_sequences = trains ? worker.micro_batch() : worker.infer_batch_size;
  rule.packing.workload = workload;
  const StrategyConfig& layout = worker.strategy_args.strategy_config;
  rule.packing.alignment = sequence_alignment(layout.context_parallel(), layout.tensor_parallel());
  if (args.use_sequence_packing) {
    rule.is_packed = true;
    rule.packing.algorithm = packing.algorithm;
    rule.packing.budget =
        (trains ? packing.max_packed_sequence_length_train : packing.max_packed_sequence_length_forward).value();
    rule.packing.min_num_micro_batches =
        trains ? packing.min_num_micro_batches_train : packing.min_num_micro_batches_forward;
  } else if (trains ? args.use_dynamic_batching_in_train : args.use_dynamic_batching_in_infer) {
    rule.is_packed = true;
    rule.packing.budget =
        (trains ? args.max_tokens_per_microbatch_in_train : args.max_tokens_per_microbatch_in_infer).value();
  }
  return rule;
}

std::vector<Partition> plan_ranks(const std::vector<int64_t>& lengths, const BatchRule& rule, int64_t num_ranks) {
  const Partition shares = balance_ranks(lengths, num_ranks, rule.workload);
  std::vector<Partition> plans;
  size_t most = 0;
  const auto cut = [&](const std::vector<int64_t>& share) {
    return rule.is_packed ? plan_micro_batches(pick(lengths, share), rule.packing)
                          : fixed_micro_batches(static_cast<int64_t>(share.size()), rule.num_sequences);
  };
  for (const auto& share : shares) {
    plans.push_back(cut(share));
    most = std::max(most, plans.back().size());
  }
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    if (rule.is_packed && plans[rank].size() < most)
      plans[rank] = plan_micro_batches(pick(lengths, shares[rank]), rule.packing, static_cast<int64_t>(most));
    plans[rank].resize(most);
    for (auto& micro_batch : plans[rank])
      for (auto& index : micro_batch) index = shares[rank][index];
  }
  return plans;
}

Partition plan_mini_batches(int64_t num_sequences, int64_t size, int64_t group_size, uint64_t seed, int64_t step,
                            int64_t epoch) {
  if (num_sequences % size)
    throw user_error(
        "{} sequences of a step are not a multiple of the mini-batch of {}; use rollouts of this "
        "configuration, or change the mini-batch",
        num_sequences, size);
  if (size % group_size)
    throw user_error("a mini-batch of {} sequences would split groups of {}: prompt-mean needs whole groups", size,
                     group_size);
  const auto order = random_permutation(num_sequences / group_size, {.seed = seed,
                                                                     .purpose = Purpose::kMiniBatchShuffle,
                                                                     .step = static_cast<uint32_t>(step),
                                                                     .sequence = static_cast<uint64_t>(epoch)});
  Partition mini_batches;
  for (size_t i = 0; i < order.size(); ++i)
    for (int64_t member = 0; member < group_size; ++member) {
      if (mini_batches.empty() || static_cast<int64_t>(mini_batches.back().size()) == size) mini_batches.emplace_back();
      mini_batches.back().push_back(order[i] * group_size + member);
    }
  return mini_batches;
}

}  // namespace roll
