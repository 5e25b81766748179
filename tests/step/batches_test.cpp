#include "step/batches.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"
#include "model/small_spec.h"
#include "packing/statistics.h"

namespace roll {

namespace {

std::vector<int64_t> random_lengths(int64_t n, uint64_t seed) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < n; ++i)
    lengths.push_back(1 +
                      static_cast<int64_t>(random_uniform({.seed = seed, .sequence = static_cast<uint64_t>(i)}) * 60));
  return lengths;
}

BatchRule packed_rule(int64_t budget, PackAlgorithm algorithm) {
  BatchRule rule;
  rule.is_packed = true;
  rule.packing.budget = budget;
  rule.packing.algorithm = algorithm;
  return rule;
}

/// The mini-batches of 12 of an epoch of 48 sequences.
Partition mini_batches(int64_t group_size, uint64_t seed, int64_t step, int64_t epoch) {
  return epoch_mini_batches({.mini_batch = 12, .group_size = group_size, .seed = seed}, 48, step, epoch);
}

/// How often each of n sequences occurs.
std::vector<int64_t> uses(const std::vector<Partition>& plans, int64_t n) {
  std::vector<int64_t> count(n);
  for (const auto& plan : plans)
    for (const auto& micro_batch : plan)
      for (const int64_t i : micro_batch) ++count.at(i);
  return count;
}

}  // namespace

TEST_CASE("plan_ranks places every sequence once, under the budget, in equally many micro-batches", "[train]") {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const int64_t n = 1 + static_cast<int64_t>(seed % 23);
    const auto lengths = random_lengths(n, seed);
    for (const int64_t num_ranks : {1, 2, 3, 8})
      for (const auto algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance}) {
        const auto plans = plan_ranks(lengths, packed_rule(64, algorithm), num_ranks);
        REQUIRE(plans.size() == static_cast<size_t>(num_ranks));
        REQUIRE(uses(plans, n) == std::vector<int64_t>(n, 1));
        for (const auto& plan : plans) {
          REQUIRE(plan.size() == plans.front().size());
          int64_t num_sequences = 0, num_filled = 0;
          for (const auto& micro_batch : plan) {
            num_sequences += std::ssize(micro_batch);
            num_filled += !micro_batch.empty();
          }
          REQUIRE(num_filled ==
                  std::min(num_sequences, std::ssize(plan)));  // a filler only where nothing is left to split
          for (const auto& micro_batch : plan) {
            int64_t tokens = 0;
            for (const int64_t i : micro_batch) tokens += lengths[i];
            REQUIRE(tokens <= 64);
          }
        }
      }
  }
}

TEST_CASE("groups that share their prompt stay together, under the budget and with even work", "[train]") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const int64_t groups = 1 + static_cast<int64_t>(seed % 7), size = 1 + static_cast<int64_t>(seed / 7 % 5);
    const auto responses = random_lengths(groups * size, seed), prompts = random_lengths(groups, seed + 100);
    SequenceSizes sizes;
    for (int64_t i = groups * size; i-- > 0;) {  // not in the order of the groups
      sizes.groups.push_back(i % groups);
      sizes.prompts.push_back(prompts[i % groups]);
      sizes.lengths.push_back(prompts[i % groups] + responses[i]);
    }
    for (const int64_t num_ranks : {1, 2, 3, 8})
      for (const auto algorithm : {PackAlgorithm::kNone, PackAlgorithm::kLoadBalance})
        for (const int64_t budget : {0, 128, 300}) {
          BatchRule rule = packed_rule(budget, algorithm);
          rule.is_packed = budget > 0;
          rule.packing.alignment = 1 + static_cast<int64_t>(seed % 3);
          rule.packing.share_prompts = SharePrompts::kTrue;
          const auto plans = plan_ranks(sizes, rule, num_ranks);
          REQUIRE(std::ssize(plans) == num_ranks);
          REQUIRE(uses(plans, groups * size) == std::vector<int64_t>(groups * size, 1));
          for (const auto& plan : plans) {
            REQUIRE(plan.size() == plans.front().size());
            for (const auto& micro_batch : plan)
              if (budget > 0)
                REQUIRE(total_load(sizes, micro_batch, rule.packing.alignment, {}, true).aligned_tokens <= budget);
          }
          const BatchStats shared = batch_stats(plans, sizes, rule.packing);
          rule.packing.share_prompts = SharePrompts::kFalse;
          const BatchStats whole = batch_stats(plan_ranks(sizes, rule, num_ranks), sizes, rule.packing);
          const auto busiest = [](const BatchStats& stats) {
            double most = 0;
            for (const auto& rank : stats.ranks) {
              double work = 0;
              for (const auto& m : rank) work += m.work;
              most = std::max(most, work);
            }
            return most;
          };
          REQUIRE(busiest(shared) <= 1.1 * busiest(whole));  // equal counts swap, Karmarkar-Karp alone does not
        }
  }
  // Eight groups of eight on two ranks, and one group on as many: whole, and in halves.
  const auto equal_groups = [](int64_t groups) {
    SequenceSizes sizes;
    for (int64_t i = 0; i < 8 * groups; ++i) {
      sizes.lengths.push_back(64);
      sizes.groups.push_back(i / 8);
      sizes.prompts.push_back(33);
    }
    return sizes;
  };
  BatchRule rule = packed_rule(32 + 8 * 32, PackAlgorithm::kLoadBalance);
  rule.packing.share_prompts = SharePrompts::kTrue;
  for (const auto& plan : plan_ranks(equal_groups(8), rule, 2)) {
    REQUIRE(plan.size() == 4);
    for (const auto& micro_batch : plan) {
      CHECK(micro_batch.size() == 8);
      for (const int64_t i : micro_batch) CHECK(i / 8 == micro_batch.front() / 8);
    }
  }
  for (const auto& plan : plan_ranks(equal_groups(1), rule, 2)) CHECK(plan.front().size() == 4);
  rule.packing.min_num_micro_batches = 3;
  CHECK(plan_ranks(equal_groups(1), rule, 1)[0].size() >= 3);
  rule.packing.min_num_micro_batches = 1;
  rule.packing.budget -= 1;  // a group no longer fits
  for (const auto& plan : plan_ranks(equal_groups(8), rule, 2)) CHECK(plan.size() > 4);
  rule.sequences_per_row = 2;
  rule.packing.budget = 96;
  for (const auto& plan : plan_ranks(equal_groups(1), rule, 1)) CHECK(plan.size() == 4);  // pairs of 64 + 32 tokens
}

TEST_CASE("without packing a micro-batch holds per_device_train_batch_size sequences", "[train]") {
  BatchRule rule;
  rule.num_sequences = 4;
  const auto plans = plan_ranks(std::vector<int64_t>(16, 10), rule, 2);
  for (const auto& plan : plans) {
    REQUIRE(plan.size() == 2);
    for (const auto& micro_batch : plan) CHECK(micro_batch.size() == 4);
  }
  const auto uneven = plan_ranks(std::vector<int64_t>(9, 10), rule, 2);
  for (const auto& plan : uneven) CHECK(plan.size() == 2);
}

TEST_CASE("a sequence's work is what the model computes of it", "[train]") {
  const ModelSpec spec = test::small_spec();
  const BatchRule rule = BatchRule{.num_sequences = 3}.with(make_workload(spec));
  CHECK(rule.num_sequences == 3);
  for (const int64_t length : {1, 7, 1000})
    CHECK(rule.packing.workload(length) == Approx(spec.forward_flops(length, length)));
}

TEST_CASE("mini-batches do not depend on the number of ranks and cover the step once per epoch", "[train]") {
  const auto a = mini_batches(1, 7, 3, 0);
  CHECK(a == mini_batches(1, 7, 3, 0));
  CHECK(a != mini_batches(1, 7, 4, 0));
  CHECK(a != mini_batches(1, 7, 3, 1));
  CHECK(a != mini_batches(1, 8, 3, 0));
  REQUIRE(a.size() == 4);
  CHECK(uses({a}, 48) == std::vector<int64_t>(48, 1));
}

TEST_CASE("whole groups stay in one mini-batch", "[train]") {
  for (const auto& mini_batch : mini_batches(4, 1, 1, 0))
    for (size_t i = 0; i < mini_batch.size(); i += 4) {
      CHECK(mini_batch[i] % 4 == 0);
      for (int64_t k = 1; k < 4; ++k) CHECK(mini_batch[i + k] == mini_batch[i] + k);
    }
}

TEST_CASE("mini-batches that do not fit are refused", "[train]") {
  CHECK_THROWS_AS(epoch_mini_batches({.mini_batch = 12}, 50, 1, 0), UserError);
  CHECK_THROWS_AS(mini_batches(8, 1, 1, 0), UserError);
}

TEST_CASE("ranks train in each epoch on the mini-batches in their order, micro-batch after micro-batch", "[train]") {
  EpochRule rule{.mini_batch = 4, .seed = 3, .num_epochs = 2, .num_ranks = 2};
  rule.micro_batches.num_sequences = 1;
  const std::vector<int64_t> lengths(8, 10);
  Partition of_epochs;
  for (int64_t epoch = 0; epoch < rule.num_epochs; ++epoch) {
    const Partition shares = epoch_shares(rule, lengths, 5, epoch);
    REQUIRE(shares.size() == 2);
    for (const auto& mini_batch : epoch_mini_batches(rule, 8, 5, epoch)) {
      of_epochs.push_back(mini_batch);
      const size_t first = of_epochs.size() % 2 == 1 ? 0 : 2;  // of each rank's four sequences two are of a mini-batch
      for (const auto& share : shares)
        for (size_t i = first; i < first + 2; ++i)
          CHECK(std::ranges::find(mini_batch, share.at(i)) != mini_batch.end());
    }
  }
  CHECK(of_epochs == step_mini_batches(rule, 8, 5));
}

TEST_CASE("neighbours that belong together stay in one micro-batch, under a budget for both", "[train]") {
  const std::vector<int64_t> lengths{3, 9, 5, 5, 12, 1, 2, 2, 7, 6};
  BatchRule rule{.is_packed = true};
  rule.packing.budget = 16;
  rule.packing.alignment = 2;
  rule.packing.algorithm = GENERATE(PackAlgorithm::kNone, PackAlgorithm::kLoadBalance);
  rule.sequences_per_row = 2;
  for (const int64_t num_ranks : {1, 2}) {
    std::vector<int64_t> seen;
    for (const Partition& plan : plan_ranks(lengths, rule, num_ranks))
      for (const auto& micro_batch : plan) {
        int64_t tokens = 0;
        for (size_t i = 0; i < micro_batch.size(); ++i) {
          if (i % 2 == 0) {
            CHECK(micro_batch[i] % 2 == 0);
            CHECK(micro_batch[i + 1] == micro_batch[i] + 1);
          }
          tokens += (lengths[micro_batch[i]] + 1) / 2 * 2;
          seen.push_back(micro_batch[i]);
        }
        CHECK(tokens <= 16);
      }
    std::ranges::sort(seen);
    CHECK(seen == std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
  rule.is_packed = false;
  rule.num_sequences = 2;  // units
  CHECK(plan_ranks(lengths, rule, 1)[0].front() == std::vector<int64_t>{0, 1, 2, 3});
  rule.is_packed = true;
  rule.packing.budget = 13;
  CHECK_THROWS_WITH(plan_ranks(lengths, rule, 1), Catch::Contains("14"));
}

}  // namespace roll
