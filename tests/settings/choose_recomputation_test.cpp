#include "settings/choose_recomputation.h"

#include <catch2/catch.hpp>

#include "model/activation_memory.h"
#include "settings/placement.h"
#include "settings/small_config.h"
#include "settings/step_cost.h"

namespace roll {

using test::config_of;
using test::small_spec;

TEST_CASE("of memory as much is used as there is: as few layers are recomputed as fit, all where none do", "[train]") {
  Config config = config_of(false, true);
  config.sequence_length = 4000;
  config.experience.adv_estimator = "grpo";
  config.actor_train.packing.use_sequence_packing = true;
  config.actor_train.packing.sequence_packing_args.max_packed_sequence_length_train = 1'000'000;
  StrategyConfig& strategy = config.actor_train.strategy_args.strategy_config;
  place_roles(config, 2);
  ModelSpec spec = small_spec(true);
  spec.num_layers = 12;
  const RoleShapes models{{"actor_train", spec}};
  CHECK_FALSE(chooses_recomputation(config));
  strategy.recompute_method = RecomputeMethod::kAuto;
  CHECK_FALSE(chooses_recomputation(config));  // nothing is recomputed
  strategy.recompute_granularity = Recompute::kFull;
  CHECK(chooses_recomputation(config));
  CHECK(config.actor_train.recomputation().layers == kEveryLayer.layers);  // while nobody has chosen
  const auto chosen = [&](double bytes) {
    Config settled = config;
    const auto lines = choose_recomputation(settled, models, true, bytes);
    CHECK(lines.size() == 1);
    CHECK_FALSE(chooses_recomputation(settled));
    const Recomputation found = settled.actor_train.recomputation();
    const MemoryEstimate memory = estimate_memory(settled, models, true, 0);
    const double needed = memory.training() + 0.1 * memory.activations + 1e9;
    CHECK((needed <= bytes || found.layers == spec.num_layers));
    CHECK((needed > bytes) == (lines[0].find("more than is available") != std::string::npos));
    return found.layers;
  };
  const auto needed_with = [&](int64_t layers) {
    Config fixed = config;
    fixed.actor_train.strategy_args.strategy_config.recompute_method = RecomputeMethod::kBlock;
    fixed.actor_train.strategy_args.strategy_config.recompute_num_layers = layers;
    const MemoryEstimate memory = estimate_memory(fixed, models, true, 0);
    return memory.training() + 0.1 * memory.activations + 1e9;
  };
  CHECK(chosen(1e15) == 0);
  CHECK(chosen(1e6) == 12);
  for (const int64_t layers : {0, 1, 5, 12}) {
    CHECK(chosen(needed_with(layers) + 1) == layers);
    CHECK(chosen(needed_with(layers) - 1) == std::min<int64_t>(12, layers + 1));
  }
  CHECK(step_cost(config, models).training == Approx(step_cost(config, models).sampling * 4));
  strategy.recompute_method = RecomputeMethod::kBlock;
  strategy.recompute_num_layers = 3;
  CHECK(step_cost(config, models).training == Approx(step_cost(config, models).sampling * 3.25));
}

TEST_CASE("fine-tuning chooses as a pipeline whose only model it is, and counts a pair as two sequences", "[train]") {
  SftConfig sft;
  DpoConfig dpo;
  const ModelSpec spec = small_spec(true);
  for (RowConfig* config : {static_cast<RowConfig*>(&sft), static_cast<RowConfig*>(&dpo)}) {
    config->sequence_length = 4000;
    config->trained.model_args.dtype = Dtype::kBf16;
    config->trained.training_args.per_device_train_batch_size = 100;
    config->trained.strategy_args.strategy_config.recompute_granularity = Recompute::kFull;
    config->trained.strategy_args.strategy_config.recompute_method = RecomputeMethod::kAuto;
    CHECK(chooses_recomputation(*config));
  }
  const RoleShapes models{{"actor_train", spec}};
  const auto layers = [&](auto config, double bytes) {
    choose_recomputation(config, models, true, bytes);
    return config.trained.recomputation().layers;
  };
  CHECK(layers(sft, 1e15) == 0);
  CHECK(layers(sft, 1e6) == 3);
  double enough = 1e9;
  while (layers(sft, enough) > 0) enough *= 1.05;
  CHECK(layers(dpo, enough) > 0);
  CHECK(layers(dpo, 1e9 + 2 * (enough - 1e9)) == 0);
}

}  // namespace roll
