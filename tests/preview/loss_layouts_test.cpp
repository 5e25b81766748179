#include "preview/loss_layouts.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"
#include "base/random.h"

namespace roll {

namespace {

Config config_with(const std::string& mode, const std::string& variant, int64_t seed) {
  Config config;
  config.seed = seed;
  config.num_return_sequences_in_group = 1 + seed % 4;
  config.loss.loss_agg_mode = named<AggMode>(mode);
  if (has_divisor(config.loss.loss_agg_mode)) config.loss.loss_aggregation_divisor = 17;
  config.loss.use_kl_loss = true;
  config.loss.kl_loss_coef = 0.1;
  config.loss.entropy_loss_coef = 0.01;
  config.loss.value_clip = 0.3;
  config.loss.length_loss_weight = seed % 2 == 1;
  config.loss.positive_loss_coef = seed % 2 == 0 ? 0.2 : 0;
  config.loss.loss_mask_keys.emplace_back("positive_response_mask");
  config.loss.importance_sampling = variant == "seq" ? ImportanceSampling::kSequence : ImportanceSampling::kToken;
  config.actor_train.policy.pg_variant = Chosen<PolicyLossKind>(variant == "seq" ? "ppo" : variant.c_str());
  config.experience.max_len_mask = true;
  config.experience.train_infer_correction.is_weight.enabled = seed % 3 == 0;
  return config;
}

/// Takes tokens, whole sequences and a whole prompt out of the loss at random.
void punch_holes(Experience& e, int64_t seed) {
  const auto draw = [&](int64_t b, int64_t t) {
    return random_uniform({.seed = static_cast<uint64_t>(seed),
                           .purpose = Purpose::kInit,
                           .sequence = static_cast<uint64_t>(b),
                           .position = static_cast<uint32_t>(t)});
  };
  for (int64_t b = 0; b < e.num_sequences(); ++b) {
    const bool is_empty = draw(b, 0) < 0.2 || e.group_index[b] == 1;
    const at::Tensor part = response_part(e, e.final_response_mask(), b);
    for (int64_t t = 0; t < part.numel(); ++t)
      if (is_empty || draw(b, t + 1) < 0.3) part[t] = 0;
  }
}

}  // namespace

TEST_CASE("losses and gradients of random mini-batches are the same under every layout", "[train]") {
  const std::vector<std::string> modes = Words<AggMode>::all();
  const std::vector<std::string> variants = {"ppo", "seq", "tis", "topr", "cispo", "kimi15", "gmpo"};
  for (const std::string& mode : modes)
    for (size_t v = 0; v < variants.size(); ++v) {
      const auto seed = static_cast<int64_t>(v + 1);
      const Config config = config_with(mode, variants[v], seed);
      Experience mini_batch = random_mini_batch(config, 12);
      complete_for_check(mini_batch, config);
      punch_holes(mini_batch, seed);
      for (const LayoutDeviation& found : check_layouts(mini_batch, config)) {
        INFO(mode << " " << variants[v] << " " << found.role << " " << found.layout);
        CHECK(found.loss < 3e-7);
        CHECK(found.gradient < 3e-7);
      }
    }
}

TEST_CASE("a loss scale of the number of micro-batches is a layout's", "[train]") {
  Config config = config_with("token-mean", "ppo", 1);
  config.actor_train.apply_loss_scale = false;
  Experience mini_batch = random_mini_batch(config, 8);
  complete_for_check(mini_batch, config);
  double worst = 0;
  for (const LayoutDeviation& found : check_layouts(mini_batch, config)) worst = std::max(worst, found.worst());
  CHECK(worst > 0.5);
}

TEST_CASE("a mini-batch without a token is nothing to check a loss with", "[train]") {
  const Config config = config_with("token-mean", "ppo", 1);
  Experience mini_batch = random_mini_batch(config, 4);
  complete_for_check(mini_batch, config);
  mini_batch.final_response_mask().zero_();
  CHECK_THROWS_AS(check_layouts(mini_batch, config), UserError);
}

}  // namespace roll
