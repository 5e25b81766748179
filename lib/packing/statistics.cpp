#include "packing/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace roll {

namespace {

template <class F>
void for_each_filled(const BatchStats& stats, F&& f) {
  for (const auto& rank : stats.ranks)
    for (const auto& micro_batch : rank)
      if (micro_batch.num_sequences > 0) f(micro_batch);
}

template <class F>
std::vector<double> rank_sums(const BatchStats& stats, F&& value) {
  std::vector<double> sums;
  for (const auto& rank : stats.ranks) {
    double sum = 0;
    for (const auto& micro_batch : rank) sum += value(micro_batch);
    sums.push_back(sum);
  }
  return sums;
}

}  // namespace

int64_t BatchStats::num_micro_batches() const {
  return ranks.empty() ? 0 : std::ssize(ranks.front());
}

int64_t BatchStats::num_fillers() const {
  int64_t filled = 0;
  for_each_filled(*this, [&](const auto&) { ++filled; });
  return num_micro_batches() * std::ssize(ranks) - filled;
}

int64_t BatchStats::num_over_budget() const {
  int64_t over = 0;
  for_each_filled(*this, [&](const auto& m) { over += budget > 0 && m.aligned_tokens > budget; });
  return over;
}

int64_t BatchStats::tokens() const {
  int64_t sum = 0;
  for_each_filled(*this, [&](const auto& m) { sum += m.tokens; });
  return sum;
}

double BatchStats::work() const {
  double sum = 0;
  for_each_filled(*this, [&](const auto& m) { sum += m.work; });
  return sum;
}

std::vector<double> BatchStats::fills() const {
  std::vector<double> fills;
  if (budget == 0) return fills;
  for_each_filled(*this,
                  [&](const auto& m) { fills.push_back(static_cast<double>(m.tokens) / static_cast<double>(budget)); });
  return fills;
}

double BatchStats::shared() const {
  int64_t shared = 0;
  for_each_filled(*this, [&](const auto& m) { shared += m.shared_tokens; });
  return shared > 0 ? static_cast<double>(shared) / static_cast<double>(shared + tokens()) : 0;
}

double BatchStats::padding() const {
  int64_t aligned = 0;
  for_each_filled(*this, [&](const auto& m) { aligned += m.aligned_tokens; });
  return aligned > 0 ? static_cast<double>(aligned - tokens()) / static_cast<double>(aligned) : 0;
}

double BatchStats::rank_imbalance() const {
  return imbalance(rank_sums(*this, [](const auto& m) { return m.work; }));
}

double BatchStats::rank_imbalance_tokens() const {
  return imbalance(rank_sums(*this, [](const auto& m) { return static_cast<double>(m.tokens); }));
}

double BatchStats::micro_batch_imbalance() const {
  std::vector<double> work;
  for_each_filled(*this, [&](const auto& m) { work.push_back(m.work); });
  return imbalance(work);
}

BatchStats batch_stats(const std::vector<Partition>& plans, const SequenceSizes& sizes, const PackOptions& options) {
  const bool shares = shares_prompts(sizes, options.share_prompts, options.alignment, options.workload);
  BatchStats stats{.budget = options.budget, .ranks = {}};
  for (const auto& plan : plans) {
    auto& rank = stats.ranks.emplace_back();
    for (const auto& micro_batch : plan) {
      const Load load = total_load(sizes, micro_batch, options.alignment, options.workload, shares);
      rank.push_back({std::ssize(micro_batch), load.tokens, load.aligned_tokens, load.work, load.shared});
    }
  }
  return stats;
}

double padded_work(const std::vector<int64_t>& lengths, int64_t size, const Workload& workload) {
  double work = 0;
  for (const auto& piece : fixed_micro_batches(std::ssize(lengths), size)) {
    int64_t longest = 0;
    for (const int64_t i : piece) longest = std::max(longest, lengths[i]);
    work += workload(longest) * static_cast<double>(piece.size());
  }
  return work;
}

Histogram histogram(const std::vector<int64_t>& lengths, int64_t num_bins) {
  ROLL_CHECK(num_bins >= 1, "a histogram has bins");
  Histogram result;
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const auto fits = [&](int64_t width) { return (longest + width - 1) / width <= num_bins; };
  for (int64_t unit = 1; !fits(result.width); unit *= 10)
    for (const int64_t step : {1, 2, 5})
      if (!fits(result.width)) result.width = step * unit;
  result.counts.resize((longest + result.width - 1) / result.width);
  for (const int64_t length : lengths) ++result.counts[std::max<int64_t>(0, length - 1) / result.width];
  return result;
}

int64_t quantile(const std::vector<int64_t>& sorted, double q) {
  ROLL_CHECK(!sorted.empty(), "a quantile is one of the values");
  const auto n = static_cast<double>(sorted.size());
  return sorted[static_cast<size_t>(std::clamp(std::ceil(q * n), 1.0, n)) - 1];
}

}  // namespace roll
