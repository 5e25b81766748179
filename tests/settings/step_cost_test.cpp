#include "settings/step_cost.h"

#include <catch2/catch.hpp>

namespace roll {

namespace {

/// 2 operations a parameter and token in the linear layers, without attention's square: small enough to be left out.
ModelSpec wide_spec() {
  ModelSpec spec;
  spec.hidden_size = 4096;
  spec.intermediate_size = 16384;
  spec.num_layers = 2;
  spec.num_heads = spec.num_kv_heads = 32;
  spec.head_dim = 128;
  spec.vocab_size = 16;
  return spec;
}

Config grpo() {
  Config config;
  config.rollout_batch_size = 4;
  config.num_return_sequences_in_group = 2;
  config.response_length = 6;
  config.sequence_length = 10;
  config.ppo_epochs = 1;
  config.experience.adv_estimator = Chosen<AdvantageEstimator>("grpo");
  config.enable_reference = false;
  config.enable_old_logprobs_recompute = false;
  config.actor_train.training_args.per_device_train_batch_size = 8;
  config.actor_train.ranks = {0};
  return config;
}

}  // namespace

TEST_CASE("a step costs two operations a parameter and token to sample, six to train", "[settings]") {
  const double parameters = 2.0 * (4 * 4096.0 * 4096 + 3 * 4096.0 * 16384);
  const StepCost cost = step_cost(grpo(), {{"actor_train", wide_spec()}});
  CHECK(cost.tokens == 80);
  CHECK(cost.sampling == Approx(2 * parameters * 80).epsilon(1e-3));
  CHECK(cost.forwards == 0);
  CHECK(cost.training == Approx(3 * cost.sampling));
}

TEST_CASE("old log-probs, reference, recomputation and epochs cost forwards", "[settings]") {
  Config config = grpo();
  const double forward = step_cost(config, {{"actor_train", wide_spec()}}).sampling;
  config.enable_old_logprobs_recompute = true;
  CHECK(step_cost(config, {{"actor_train", wide_spec()}}).forwards == Approx(forward));
  config.enable_reference = true;
  CHECK(step_cost(config, {{"actor_train", wide_spec()}}).forwards == Approx(2 * forward));
  config.actor_train.strategy_args.strategy_config.recompute_granularity = Recompute::kFull;
  config.ppo_epochs = 3;
  CHECK(step_cost(config, {{"actor_train", wide_spec()}}).training == Approx(12 * forward));
}

TEST_CASE("the cost is said in a unit that fits", "[settings]") {
  CHECK(cost_text({.tokens = 786432, .sampling = 0.3e15, .forwards = 0.2e15, .training = 0.9e15}) ==
        "a step of full-length sequences: 786432 tokens, 1.4 PFLOP (sampling 0.3, log-probs and values 0.2, training "
        "0.9)");
}

}  // namespace roll
