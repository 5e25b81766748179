#include "packing/statistics.h"

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {

TEST_CASE("the statistics of a plan are those of its lengths", "[packing]") {
  // Rank 0: 3 + 5 and 8 tokens; rank 1: 7 tokens and a filler. Aligned to 4: 4 + 8, 8, 8.
  const std::vector<Partition> plans{{{0, 1}, {2}}, {{3}, {}}};
  const PackOptions options{.budget = 16, .alignment = 4, .workload = {2, 1}};
  const BatchStats stats = batch_stats(plans, std::vector<int64_t>{3, 5, 8, 7}, options);
  CHECK(stats.num_micro_batches() == 2);
  CHECK(stats.num_fillers() == 1);
  CHECK(stats.num_over_budget() == 0);
  CHECK(stats.tokens() == 23);
  CHECK(stats.fills() == std::vector<double>{0.5, 0.5, 7.0 / 16});
  CHECK(stats.padding() == Approx(5.0 / 28));
  CHECK(stats.ranks[0][0].aligned_tokens == 12);
  CHECK(stats.ranks[0][0].work == 2 * 8 + 9 + 25);
  CHECK(stats.work() == 2 * 23 + 9 + 25 + 64 + 49);
  CHECK(stats.rank_imbalance_tokens() == Approx(16 / 11.5 - 1));
  CHECK(stats.rank_imbalance() == Approx(130 / ((130 + 63) / 2.0) - 1));
  CHECK(stats.micro_batch_imbalance() == Approx(80 / ((50 + 80 + 63) / 3.0) - 1));
}

TEST_CASE("a micro-batch over the budget is counted, by its aligned tokens", "[packing]") {
  const std::vector<int64_t> lengths{5, 5};
  CHECK(batch_stats({{{0, 1}}}, lengths, {.budget = 15, .alignment = 8}).num_over_budget() == 1);
  CHECK(batch_stats({{{0, 1}}}, lengths, {.budget = 16, .alignment = 8}).num_over_budget() == 0);
  CHECK(batch_stats({{{0, 1}}}, lengths, {.budget = 0}).num_over_budget() == 0);
  CHECK(batch_stats({{{0, 1}}}, lengths, {.budget = 0}).fills().empty());
}

TEST_CASE("padded batching costs the longest sequence of each piece", "[packing]") {
  CHECK(padded_work({1, 4, 2, 3, 5}, 2, {1, 1}) == 2 * (4 + 16) + 2 * (3 + 9) + (5 + 25));
}

TEST_CASE("a histogram has round bins that hold every length", "[packing]") {
  const Histogram narrow = histogram({1, 2, 2, 3}, 10);
  CHECK(narrow.width == 1);
  CHECK(narrow.counts == std::vector<int64_t>{1, 2, 1});
  const Histogram wide = histogram({1, 50, 51, 400}, 10);
  CHECK(wide.width == 50);
  CHECK(wide.counts == std::vector<int64_t>{2, 1, 0, 0, 0, 0, 0, 1});
}

TEST_CASE("quantiles are values of the list", "[packing]") {
  CHECK(quantile({1, 2, 3, 4}, 0.5) == 2);
  CHECK(quantile({1, 2, 3, 4}, 0.99) == 4);
  CHECK(quantile({7}, 0) == 7);
  CHECK_THROWS_AS(quantile({}, 0.5), Bug);
}

}  // namespace roll
