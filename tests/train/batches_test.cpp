#include "train/batches.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"

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
          for (const auto& micro_batch : plan) {
            int64_t tokens = 0;
            for (const int64_t i : micro_batch) tokens += lengths[i];
            REQUIRE(tokens <= 64);
          }
        }
      }
  }
}

TEST_CASE("without packing a micro-batch holds per_device_train_batch_size sequences", "[train]") {
  BatchRule rule;
  rule.num_sequences = 4;
  const auto plans = plan_ranks(std::vector<int64_t>(16, 10), rule, 2);
  for (const auto& plan : plans) {
    REQUIRE(plan.size() == 2);
    for (const auto& micro_batch : plan) CHECK(micro_batch.size() == 4);
  }
}

TEST_CASE("mini-batches do not depend on the number of ranks and cover the step once per epoch", "[train]") {
  const auto a = plan_mini_batches(48, 12, 1, 7, 3, 0);
  CHECK(a == plan_mini_batches(48, 12, 1, 7, 3, 0));
  CHECK(a != plan_mini_batches(48, 12, 1, 7, 4, 0));
  CHECK(a != plan_mini_batches(48, 12, 1, 7, 3, 1));
  CHECK(a != plan_mini_batches(48, 12, 1, 8, 3, 0));
  REQUIRE(a.size() == 4);
  CHECK(uses({a}, 48) == std::vector<int64_t>(48, 1));
}

TEST_CASE("whole groups stay in one mini-batch", "[train]") {
  for (const auto& mini_batch : plan_mini_batches(48, 12, 4, 1, 1, 0))
    for (size_t i = 0; i < mini_batch.size(); i += 4) {
      CHECK(mini_batch[i] % 4 == 0);
      for (int64_t k = 1; k < 4; ++k) CHECK(mini_batch[i + k] == mini_batch[i] + k);
    }
}

TEST_CASE("mini-batches that do not fit are refused", "[train]") {
  CHECK_THROWS_AS(plan_mini_batches(50, 12, 1, 1, 1, 0), UserError);
  CHECK_THROWS_AS(plan_mini_batches(48, 12, 8, 1, 1, 0), UserError);
}

}  // namespace roll
