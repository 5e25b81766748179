// Plans of the largest mixtures on their GPUs, against numbers that tests/oracles/make_golden_mixture_plans.py has from
// what their config.json's say.
#include <catch2/catch.hpp>

#include "model/activation_memory.h"
#include "model/known_shapes.h"
#include "pipeline/schedule.h"
#include "settings/memory_estimate.h"
#include "settings/placement.h"
#include "settings/small_config.h"

namespace roll {

namespace {

struct Plan {
  const char* model;
  double parameters;
  int64_t pp, ep, cp;
  bool counts_ends;  // the embedding and the loss as a layer each
};

struct StageNumbers {
  int64_t stage;
  double of_all, of_experts;  // that all data ranks hold, and those with the same experts
};

constexpr int kNumRanks = 256;

Config config_of(const Plan& plan) {
  Config config = test::config_of(/*is_fp32=*/false, /*shares=*/true);
  StrategyConfig& strategy = config.actor_train.strategy_args.strategy_config;
  strategy.pipeline_model_parallel_size = plan.pp;
  strategy.expert_model_parallel_size = plan.ep;
  strategy.context_parallel_size = plan.cp;
  strategy.account_for_embedding_in_pipeline_split = strategy.account_for_loss_in_pipeline_split = plan.counts_ends;
  place_roles(config, kNumRanks);
  config.actor_infer.ranks = {kNumRanks};  // samples elsewhere
  return config;
}

}  // namespace

TEST_CASE("what a rank holds of a large mixture is what its published sizes give", "[settings]") {
  using Case = std::pair<Plan, std::vector<StageNumbers>>;
  const auto [plan, stages] =
      GENERATE(Case{{"Qwen3-235B-A22B", 235093634560, 8, 8, 4, true},
                    {{0, 1412524800, 3321888768}, {1, 862030848, 3623878656}, {7, 1412528896, 3321888768}}},
               Case{{"Qwen3.5-397B-A17B", 396346350336, 4, 16, 1, false},
                    {{0, 2968248832, 6039797760}, {1, 1937974016, 6039797760}, {3, 2955096832, 6039797760}}});
  CAPTURE(plan.model);
  const ModelSpec& spec = find_known_shape(plan.model)->spec;
  CHECK(static_cast<double>(spec.num_parameters()) == plan.parameters);
  Config config = config_of(plan);
  for (const StageNumbers& numbers : stages) {
    CAPTURE(numbers.stage);
    const MemoryEstimate memory =
        estimate_memory(config, {{"actor_train", spec}}, /*on_gpu=*/true, static_cast<int>(numbers.stage * plan.cp));
    const double all = numbers.of_all + numbers.of_experts;
    const double holders = kNumRanks / static_cast<double>(plan.pp), of_expert = holders / static_cast<double>(plan.ep);
    CHECK(memory.gradients == Approx(4 * all).epsilon(1e-5));
    CHECK(memory.weights == Approx(2 * all).epsilon(1e-5));
    // Two moments, and the 16 bits that make float32 masters of the weights.
    CHECK(memory.optimizer == Approx(10 * (numbers.of_all / holders + numbers.of_experts / of_expert)).epsilon(1e-5));
  }
}

TEST_CASE("a mixture's rows to experts of other ranks take memory on their way", "[settings]") {
  const ModelSpec& spec = find_known_shape("Qwen3-235B-A22B")->spec;
  ActivationRule alone{.tokens = 4096, .longest = 4096, .layers = {3}, .has_lm_head = false}, shared = alone;
  shared.ep = 8;
  // 4,096 tokens go to 8 experts each: rows of 4,096 numbers of 2 bytes as they are sent and as they come, and two
  // lists of where they lie.
  constexpr double kRows = 4096 * 8.0, kPlaces = 16 * kRows;
  CHECK(forward_activation_bytes(spec, shared) - forward_activation_bytes(spec, alone) ==
        Approx(kRows * 2 * 4096 * 2 + kPlaces));
  // Backward of one layer: the lists are kept, and gradients of 2 x 4,096 numbers are more than those of 4,096 + 2 x
  // 1,536.
  const double more = training_activation_bytes(spec, shared) - training_activation_bytes(spec, alone);
  CHECK(
      more ==
      Approx(kPlaces + kRows * 2 * (2 * 4096.0 - std::max(4096 + 2 * 1536, 2 * 4096 + 1536))).margin(kRows * 2 * 4096));
  CHECK(more >= kPlaces);
}

TEST_CASE("stages that take as long idle as the published formula says", "[settings]") {
  for (const int64_t stages : {8, 16})
    for (const int64_t micro_batches : {8, 64}) {
      const std::vector<double> busy(stages, 3.0);
      const double share = static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
      CHECK(1 - 3 / pipeline_seconds(busy, static_cast<double>(micro_batches)) == Approx(share));
      CHECK(bubble_share({stages, 1}, micro_batches) == Approx(share));
      const double less = static_cast<double>(stages - 1) / static_cast<double>(4 * micro_batches + stages - 1);
      CHECK(bubble_share({stages, 4}, micro_batches) == Approx(less));
    }
}

}  // namespace roll
