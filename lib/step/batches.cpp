#include "step/batches.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "experience/batch.h"

namespace roll {

BatchRule BatchRule::with(const Workload& workload) const {
  BatchRule rule = *this;
  rule.packing.workload = workload;
  return rule;
}

namespace {

/// Returns the sequences of the wanted pieces, in order.
std::vector<int64_t> sequences_in(const Partition& pieces, const std::vector<int64_t>& wanted) {
  std::vector<int64_t> sequences;
  for (const int64_t piece : wanted) std::ranges::copy(pieces[piece], std::back_inserter(sequences));
  return sequences;
}

/// Splits each rank's share into equally many micro-batches. `items(indices)`: sizes of these items.
template <class MakeItems>
std::vector<Partition> cut_shares(const Partition& shares, const BatchRule& rule, const MakeItems& make_items) {
  std::vector<Partition> plans;
  size_t most_micro_batches = 0;
  for (const auto& share : shares) {
    plans.push_back(rule.is_packed ? plan_micro_batches(make_items(share), rule.packing)
                                   : fixed_micro_batches(std::ssize(share), rule.num_sequences));
    most_micro_batches = std::max(most_micro_batches, plans.back().size());
  }
  for (size_t rank = 0; rank < plans.size(); ++rank) {
    if (rule.is_packed && plans[rank].size() < most_micro_batches)
      plans[rank] =
          plan_micro_batches(make_items(shares[rank]), rule.packing, static_cast<int64_t>(most_micro_batches));
    plans[rank].resize(most_micro_batches);
    for (auto& micro_batch : plans[rank]) micro_batch = picked(shares[rank], micro_batch);
  }
  return plans;
}

/// Plans rows of several sequences as single sequences of their aligned lengths.
std::vector<Partition> plan_rows(const SequenceSizes& sizes, BatchRule rule, int64_t num_ranks) {
  const int64_t row_size = std::exchange(rule.sequences_per_row, 1);
  ROLL_CHECK_EQ(sizes.num_sequences() % row_size, 0, "units are whole");
  const bool shares = sharing_alignment(sizes, rule) > 0;
  Partition rows(sizes.num_sequences() / row_size);
  for (int64_t i = 0; i < sizes.num_sequences(); ++i) rows[i / row_size].push_back(i);
  std::vector<int64_t> sums;
  for (const auto& members : rows)
    sums.push_back(total_load(sizes, members, rule.packing.alignment, {}, shares).aligned_tokens);
  std::vector<Partition> plans = plan_ranks(sums, rule, num_ranks);
  for (Partition& plan : plans)
    for (auto& micro_batch : plan) micro_batch = sequences_in(rows, micro_batch);
  return plans;
}

/// Pieces of groups, with their tokens and work.
struct GroupPieces {
  Partition sequences;
  PlannedItems sizes;
};

GroupPieces make_group_pieces(const SequenceSizes& sizes, int64_t most_sequences, const BatchRule& rule) {
  const PackOptions& packing = rule.packing;
  GroupPieces pieces{cut_groups(sizes, most_sequences, rule.is_packed ? packing.budget : 0, packing.alignment), {}};
  for (const auto& piece : pieces.sequences) {
    const Load load = total_load(sizes, piece, packing.alignment, packing.workload, true);
    pieces.sizes.tokens.push_back(load.aligned_tokens);
    pieces.sizes.work.push_back(load.work);
  }
  return pieces;
}

/// Plans whole groups if that balances the ranks. Otherwise tries halves, quarters, ... and takes the size with the
/// lowest maximum load; each piece repeats the prompt.
std::vector<Partition> plan_groups(const SequenceSizes& sizes, const BatchRule& rule, int64_t num_ranks) {
  constexpr double kClearlyLower = 0.98;
  if (rule.is_packed) plan_items(sizes, rule.packing);  // throws if a sequence exceeds the budget
  GroupPieces pieces;
  Partition shares;
  const int64_t fewest_pieces = num_ranks * (rule.is_packed ? rule.packing.min_num_micro_batches : 1);
  double least_load = std::numeric_limits<double>::infinity();
  int64_t most_sequences = 1;
  for (const auto& group : cut_groups(sizes, std::max<int64_t>(1, sizes.num_sequences()), 0, 1))
    most_sequences = std::max(most_sequences, std::ssize(group));
  for (; most_sequences >= 1; most_sequences /= 2) {
    GroupPieces found = make_group_pieces(sizes, most_sequences, rule);
    if (std::ssize(found.sequences) < fewest_pieces && most_sequences > 1) continue;
    Partition parts = karmarkar_karp(found.sizes.work, num_ranks);
    double busiest_load = 0, total_load_sum = 0;
    for (const auto& part : parts) {
      busiest_load = std::max(busiest_load, part_sum(part, found.sizes.work));
      total_load_sum += part_sum(part, found.sizes.work);
    }
    if (busiest_load < kClearlyLower * least_load) {
      least_load = busiest_load;
      pieces = std::move(found);
      shares = std::move(parts);
    }
    if (kClearlyLower * busiest_load <= total_load_sum / static_cast<double>(num_ranks)) break;
  }
  if (!rule.is_packed) {
    for (auto& share : shares) share = sequences_in(pieces.sequences, share);
    return cut_shares(shares, rule, [](const auto&) { return PlannedItems(); });
  }
  std::vector<Partition> plans = cut_shares(shares, rule, [&](const std::vector<int64_t>& share) {
    return PlannedItems{picked(pieces.sizes.tokens, share), picked(pieces.sizes.work, share)};
  });
  for (Partition& plan : plans)
    for (auto& micro_batch : plan) micro_batch = sequences_in(pieces.sequences, micro_batch);
  return plans;
}

}  // namespace

SequenceSizes shareable(SequenceSizes sizes, const BatchRule& rule) {
  for (int64_t& prompt : sizes.prompts) prompt = std::max<int64_t>(1, prompt - rule.unshared);
  return sizes;
}

int64_t sharing_alignment(const SequenceSizes& sizes, const BatchRule& rule) {
  const PackOptions& packing = rule.packing;
  return shares_prompts(shareable(sizes, rule), packing.share_prompts, packing.alignment, packing.workload)
             ? packing.alignment
             : 0;
}

std::vector<Partition> plan_ranks(const SequenceSizes& all_sizes, BatchRule rule, int64_t num_ranks) {
  const SequenceSizes sizes = shareable(all_sizes, rule);
  rule.unshared = 0;
  if (rule.sequences_per_row > 1) return plan_rows(sizes, rule, num_ranks);
  if (!sizes.groups.empty() && sharing_alignment(sizes, rule) > 0) return plan_groups(sizes, rule, num_ranks);
  std::vector<double> work;
  for (int64_t i = 0; i < sizes.num_sequences(); ++i) work.push_back(sizes.work(i, rule.packing.workload));
  return cut_shares(balance_ranks(work, num_ranks), rule,
                    [&](const std::vector<int64_t>& share) { return plan_items(sizes.select(share), rule.packing); });
}

Partition epoch_mini_batches(const EpochRule& rule, int64_t num_sequences, int64_t step, int64_t epoch) {
  const int64_t size = rule.mini_batch;
  const int64_t group_size = rule.group_size;
  if (num_sequences % size)
    throw user_error(
        "{} sequences of a step are not a multiple of the mini-batch size {}; use rollouts made with this "
        "configuration, or change the mini-batch size",
        num_sequences, size);
  if (size % group_size)
    throw user_error("a mini-batch of {} sequences would split groups of {} responses: prompt-mean needs whole groups",
                     size, group_size);
  std::vector<int64_t> order = first_numbers(num_sequences / group_size);
  if (rule.seed)
    order = random_permutation(std::ssize(order), {.seed = *rule.seed,
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
  Partition mini_batches;
  for (int64_t epoch = 0; epoch < rule.num_epochs; ++epoch)
    std::ranges::move(epoch_mini_batches(rule, num_sequences, step, epoch), std::back_inserter(mini_batches));
  return mini_batches;
}

Partition epoch_shares(const EpochRule& rule, const SequenceSizes& sizes, int64_t step, int64_t epoch) {
  std::vector<std::vector<Partition>> plans;
  for (const auto& mini_batch : epoch_mini_batches(rule, sizes.num_sequences(), step, epoch)) {
    plans.push_back(plan_ranks(sizes.select(mini_batch), rule.micro_batches, rule.num_ranks));
    for (Partition& rank_plan : plans.back())
      for (auto& micro_batch : rank_plan) micro_batch = picked(mini_batch, micro_batch);
  }
  return rank_sequences(plans);
}

Partition rank_sequences(const std::vector<std::vector<Partition>>& batches) {
  Partition shares;
  for (const auto& plans : batches) {
    shares.resize(plans.size());
    for (size_t rank = 0; rank < plans.size(); ++rank)
      for (const auto& micro_batch : plans[rank])
        shares[rank].insert(shares[rank].end(), micro_batch.begin(), micro_batch.end());
  }
  return shares;
}

Partition share_indices(const Partition& plan) {
  Partition indices = plan;
  int64_t next_index = 0;
  for (auto& micro_batch : indices)
    for (int64_t& sequence : micro_batch) sequence = next_index++;
  return indices;
}

}  // namespace roll
