#include "step/batches.h"

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
          int64_t num_sequences = 0, num_filled = 0;
          for (const auto& micro_batch : plan)
            num_sequences += std::ssize(micro_batch), num_filled += !micro_batch.empty();
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

TEST_CASE("training and forward passes have their own sizes and budgets", "[train]") {
  const ModelSpec spec{.vocab_size = 100,
                       .hidden_size = 32,
                       .intermediate_size = 64,
                       .num_layers = 2,
                       .num_heads = 4,
                       .num_kv_heads = 2,
                       .head_dim = 8};
  WorkerConfig worker;
  worker.training_args.per_device_train_batch_size = 3;
  worker.infer_batch_size = 5;
  CHECK(batch_rule(worker, Stage::kTrain, spec).num_sequences == 3);
  CHECK(batch_rule(worker, Stage::kForward, spec).num_sequences == 5);
  CHECK_FALSE(batch_rule(worker, Stage::kTrain, spec).is_packed);
  for (const int64_t length : {1, 7, 1000})
    CHECK(batch_rule(worker, Stage::kTrain, spec).workload(length) == Approx(spec.forward_flops(length, length)));

  WorkerConfig dynamic = worker;
  dynamic.packing.use_dynamic_batching_in_train = dynamic.packing.use_dynamic_batching_in_infer = true;
  dynamic.packing.max_tokens_per_microbatch_in_train = 30;
  dynamic.packing.max_tokens_per_microbatch_in_infer = 40;
  WorkerConfig packed = worker;
  packed.packing.use_sequence_packing = true;
  packed.packing.sequence_packing_args.max_packed_sequence_length_train = 30;
  packed.packing.sequence_packing_args.max_packed_sequence_length_forward = 40;
  for (const WorkerConfig& budgeted : {dynamic, packed}) {
    CHECK(batch_rule(budgeted, Stage::kTrain, spec).is_packed);
    CHECK(batch_rule(budgeted, Stage::kTrain, spec).packing.budget == 30);
    CHECK(batch_rule(budgeted, Stage::kForward, spec).packing.budget == 40);
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
