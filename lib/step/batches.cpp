#include "step/batches.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "experience/batch.h"
#include "packing/alignment.h"

namespace roll {

// linear * s + attention * s^2 through the model's own formula at two lengths.
Workload workload_of(const ModelSpec& spec) {
  const double at_1 = spec.forward_flops(1, 1), at_2 = spec.forward_flops(2, 2);
  const double attention = (at_2 - 2 * at_1) / 2;
  return {.linear = at_1 - attention, .attention = attention};
}

BatchRule BatchRule::with(const Workload& workload) const {
  BatchRule rule = *this;
  rule.packing.workload = workload;
  return rule;
}

namespace {

/// Units are planned as sequences of their aligned lengths.
std::vector<Partition> plan_units(const std::vector<int64_t>& lengths, BatchRule rule, int64_t num_ranks) {
  const int64_t unit = std::exchange(rule.unit, 1);
  ROLL_CHECK_EQ(std::ssize(lengths) % unit, 0, "units are whole");
  std::vector<int64_t> sums(lengths.size() / unit);
  for (int64_t i = 0; i < std::ssize(lengths); ++i)
    sums[i / unit] += aligned_length(lengths[i], rule.packing.alignment);
  std::vector<Partition> plans = plan_ranks(sums, rule, num_ranks);
  for (Partition& plan : plans)
    for (auto& micro_batch : plan) {
      std::vector<int64_t> sequences;
      for (const int64_t i : micro_batch)
        for (int64_t k = 0; k < unit; ++k) sequences.push_back(i * unit + k);
      micro_batch = std::move(sequences);
    }
  return plans;
}

}  // namespace

std::vector<Partition> plan_ranks(const std::vector<int64_t>& lengths, const BatchRule& rule, int64_t num_ranks) {
  if (rule.unit > 1) return plan_units(lengths, rule, num_ranks);
  const Partition shares = balance_ranks(lengths, num_ranks, rule.packing.workload);
  std::vector<Partition> plans;
  size_t most = 0;
  const auto cut = [&](const std::vector<int64_t>& share) {
    return rule.is_packed ? plan_micro_batches(picked(lengths, share), rule.packing)
                          : fixed_micro_batches(static_cast<int64_t>(share.size()), rule.num_sequences);
  };
  for (const auto& share : shares) {
    plans.push_back(cut(share));
    most = std::max(most, plans.back().size());
  }
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    if (rule.is_packed && plans[rank].size() < most)
      plans[rank] = plan_micro_batches(picked(lengths, shares[rank]), rule.packing, static_cast<int64_t>(most));
    plans[rank].resize(most);
    for (auto& micro_batch : plans[rank])
      for (auto& index : micro_batch) index = shares[rank][index];
  }
  return plans;
}

Partition epoch_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step, int64_t epoch) {
  const int64_t size = rule.mini_batch;
  const int64_t group_size = rule.group_size;
  if (num_sequences % size)
    throw user_error(
        "{} sequences of a step are not a multiple of the mini-batch of {}; use rollouts of this "
        "configuration, or change the mini-batch",
        num_sequences, size);
  if (size % group_size)
    throw user_error("a mini-batch of {} sequences would split groups of {}: prompt-mean needs whole groups", size,
                     group_size);
  const auto order = random_permutation(num_sequences / group_size, {.seed = rule.seed,
                                                                     .purpose = Purpose::kMiniBatchShuffle,
                                                                     .step = static_cast<uint32_t>(step),
                                                                     .sequence = static_cast<uint64_t>(epoch)});
  Partition mini_batches;
  for (size_t i = 0; i < order.size(); ++i)
    for (int64_t member = 0; member < group_size; ++member) {
      if (mini_batches.empty() || std::ssize(mini_batches.back()) == size) mini_batches.emplace_back();
      mini_batches.back().push_back(order[i] * group_size + member);
    }
  return mini_batches;
}

Partition step_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step) {
  Partition all;
  for (int64_t epoch = 0; epoch < rule.num_epochs; ++epoch)
    std::ranges::move(epoch_mini_batches(rule, num_sequences, step, epoch), std::back_inserter(all));
  return all;
}

Partition epoch_shares(const EpochRule& rule, const std::vector<int64_t>& lengths, int64_t step, int64_t epoch) {
  std::vector<std::vector<Partition>> plans;
  for (const auto& mini_batch : epoch_mini_batches(rule, std::ssize(lengths), step, epoch)) {
    plans.push_back(plan_ranks(picked(lengths, mini_batch), rule.micro_batches, rule.num_ranks));
    for (Partition& of_rank : plans.back())
      for (auto& micro_batch : of_rank) micro_batch = picked(mini_batch, micro_batch);
  }
  return shares_of(plans);
}

Partition shares_of(const std::vector<std::vector<Partition>>& batches) {
  Partition shares;
  for (const auto& plans : batches) {
    shares.resize(plans.size());
    for (size_t rank = 0; rank < plans.size(); ++rank)
      for (const auto& micro_batch : plans[rank])
        shares[rank].insert(shares[rank].end(), micro_batch.begin(), micro_batch.end());
  }
  return shares;
}

Partition places_in_share(const Partition& plan) {
  Partition places = plan;
  int64_t place = 0;
  for (auto& micro_batch : places)
    for (int64_t& sequence : micro_batch) sequence = place++;
  return places;
}

}  // namespace roll
