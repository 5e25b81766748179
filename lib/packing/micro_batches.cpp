#include "packing/micro_batches.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "packing/alignment.h"
#include "packing/rebalance.h"

namespace roll {

void check_budget(const PlannedItems& items, const std::vector<int64_t>& lengths, const PackOptions& options) {
  for (size_t i = 0; i < lengths.size(); ++i)
    if (items.tokens[i] > options.budget)
      throw user_error(
          "a sequence has {} tokens{}, but the budget of a micro-batch is {}; raise the budget to {} or more",
          lengths[i],
          options.alignment == 1 ? "" : fmt::format(" ({} after alignment to {})", items.tokens[i], options.alignment),
          options.budget, items.tokens[i]);
}

PlannedItems plan_items(const std::vector<int64_t>& lengths, const PackOptions& options) {
  ROLL_CHECK(options.budget >= 1 && options.alignment >= 1, "a budget holds tokens");
  PlannedItems sizes;
  sizes.tokens = aligned_lengths(lengths, options.alignment);
  for (const int64_t length : lengths) sizes.work.push_back(options.workload(length));
  check_budget(sizes, lengths, options);
  return sizes;
}

namespace {

bool keeps_budget(const Partition& parts, const std::vector<int64_t>& tokens, int64_t budget) {
  return std::ranges::all_of(parts, [&](const auto& part) { return part_sum(part, tokens) <= budget; });
}

Partition pack_greedily(const std::vector<int64_t>& tokens, int64_t budget) {
  Partition parts;
  int64_t free = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (parts.empty() || tokens[i] > free) {
      parts.emplace_back();
      free = budget;
    }
    parts.back().push_back(static_cast<int64_t>(i));
    free -= tokens[i];
  }
  return parts;
}

/// Splits the part with most tokens into consecutive halves until there are k parts (k <= number of sequences).
void split_until(Partition& parts, const std::vector<int64_t>& tokens, size_t k) {
  const auto load = [&](const auto& part) { return part.size() < 2 ? -1 : part_sum(part, tokens); };
  while (parts.size() < k) {
    const auto largest =
        std::max_element(parts.begin(), parts.end(), [&](const auto& a, const auto& b) { return load(a) < load(b); });
    const int64_t half = load(*largest) / 2;
    size_t cut = 1;
    for (int64_t sum = tokens[largest->front()]; cut + 1 < largest->size() && sum + tokens[(*largest)[cut]] <= half;
         ++cut)
      sum += tokens[(*largest)[cut]];
    std::vector<int64_t> tail(largest->begin() + static_cast<int64_t>(cut), largest->end());
    largest->resize(cut);
    parts.insert(largest + 1, std::move(tail));
  }
}

/// Uses plain Karmarkar-Karp by work if it keeps the budget. Else takes the most even of three: that partition
/// repaired; one by tokens, which fits more tightly; best fit. If all fail, adds a part. No part is empty: there are at
/// least k sequences, and a part over the budget has more than one.
Partition balanced(const PlannedItems& sizes, int64_t k, int64_t budget) {
  const std::vector<double> by_tokens(sizes.tokens.begin(), sizes.tokens.end());
  for (;; ++k) {
    const Partition by_work = karmarkar_karp(sizes.work, k);
    std::vector<Partition> feasible;
    const auto keep_if_repaired = [&](Partition candidate) {
      if (!repair_budget(candidate, sizes.tokens, budget)) return;
      even_out(candidate, sizes.work, sizes.tokens, budget);
      feasible.push_back(std::move(candidate));
    };
    keep_if_repaired(by_work);
    if (keeps_budget(by_work, sizes.tokens, budget)) return feasible.front();
    keep_if_repaired(karmarkar_karp(by_tokens, k));
    Partition fitted = best_fit_decreasing(sizes.tokens, budget);
    if (std::ssize(fitted) <= k) {
      split_until(fitted, sizes.tokens, static_cast<size_t>(k));
      keep_if_repaired(std::move(fitted));
    }
    if (feasible.empty()) continue;
    return *std::min_element(feasible.begin(), feasible.end(), [&](const Partition& a, const Partition& b) {
      return imbalance(a, sizes.work) < imbalance(b, sizes.work);
    });
  }
}

Partition load_balance(const PlannedItems& sizes, const PackOptions& options, int64_t min_parts) {
  const int64_t total = std::accumulate(sizes.tokens.begin(), sizes.tokens.end(), int64_t{0});
  const int64_t k = std::max((total + options.budget - 1) / options.budget, min_parts);
  Partition parts = balanced(sizes, k, options.budget);
  for (auto& part : parts) std::sort(part.begin(), part.end());
  return small_large_small(std::move(parts), sizes.work);
}

Partition plan(const PlannedItems& sizes, const PackOptions& options, int64_t min_parts) {
  if (sizes.tokens.empty()) return {};
  min_parts = std::clamp<int64_t>(min_parts, 1, std::ssize(sizes.tokens));
  if (options.algorithm == PackAlgorithm::kLoadBalance) return load_balance(sizes, options, min_parts);
  Partition parts = pack_greedily(sizes.tokens, options.budget);
  split_until(parts, sizes.tokens, min_parts);
  return parts;
}

}  // namespace

Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options) {
  return plan(items, options, options.min_num_micro_batches);
}

Partition plan_micro_batches(const PlannedItems& items, const PackOptions& options, int64_t num_micro_batches) {
  Partition parts = plan(items, options, std::max(options.min_num_micro_batches, num_micro_batches));
  if (static_cast<int64_t>(parts.size()) > num_micro_batches) {
    // The larger number may have led to a worse repair: fall back to the plan that was agreed on.
    parts = plan_micro_batches(items, options);
    ROLL_CHECK(static_cast<int64_t>(parts.size()) <= num_micro_batches, "ranks agree on the largest number");
    split_until(parts, items.tokens, std::min(num_micro_batches, std::ssize(items.tokens)));
  }
  parts.resize(num_micro_batches);
  return parts;
}

Partition fixed_micro_batches(int64_t num_sequences, int64_t size) {
  ROLL_CHECK(size >= 1, "a micro-batch holds sequences");
  Partition parts((num_sequences + size - 1) / size);
  for (int64_t i = 0; i < num_sequences; ++i) parts[i / size].push_back(i);
  return parts;
}

Partition small_large_small(Partition parts, const std::vector<double>& weights) {
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const auto& a, const auto& b) { return part_sum(a, weights) < part_sum(b, weights); });
  Partition rising, falling;
  for (size_t p = 0; p < parts.size(); ++p) (p % 2 == 0 ? rising : falling).push_back(std::move(parts[p]));
  rising.insert(rising.end(), std::make_move_iterator(falling.rbegin()), std::make_move_iterator(falling.rend()));
  return rising;
}

}  // namespace roll
