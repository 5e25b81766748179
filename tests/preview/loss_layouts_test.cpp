#include "preview/loss_layouts.h"

#include <catch2/catch.hpp>

#include "base/error.h"
#include "preview/whole_loss.h"

namespace roll {

namespace {

/// Tokens, sequences and prompts without any loss are in all of them.
Config config_with(AggMode mode, const std::string& variant, const char* estimator, int64_t seed) {
  Config config;
  config.seed = seed;
  config.num_return_sequences_in_group = 2 + seed % 3;
  config.actor_train.strategy_args.strategy_config.use_distributed_optimizer = seed % 2 == 0;
  LossConfig& loss = config.loss;
  loss.loss_agg_mode = mode;
  if (has_divisor(mode)) loss.loss_aggregation_divisor = 17;
  loss.use_kl_loss = true;
  loss.kl_loss_coef = 0.1;
  loss.entropy_loss_coef = 0.01;
  loss.value_clip = 0.3;
  loss.length_loss_weight = seed % 2 == 1;
  loss.difficulty_loss_weight = seed % 3 == 1;
  loss.positive_loss_coef = seed % 2 == 0 ? 0.2 : 0;
  loss.loss_mask_keys.emplace_back("positive_response_mask");
  loss.importance_sampling = variant == "seq" ? ImportanceSampling::kSequence : ImportanceSampling::kToken;
  config.actor_train.policy.pg_variant = Chosen<PolicyLossKind>(variant == "seq" ? "ppo" : variant.c_str());
  ExperienceConfig& experience = config.experience;
  experience.adv_estimator = estimator;
  experience.max_len_mask = true;
  experience.difficulty_mask = seed % 3 == 2;
  experience.statistics_per_domain = seed % 2 == 0;
  experience.whiten_advantages = seed % 3 == 0;
  experience.add_token_level_kl = seed % 2 == 0;
  experience.train_infer_correction.is_weight.enabled = seed % 3 == 0;
  experience.train_infer_correction.filters = {{.enabled = true, .ratio_low = 0.95, .ratio_high = 1.05}};
  return config;
}

Config plain_config() {
  return config_with(AggMode::kTokenMean, "ppo", "gae", 1);
}

double worst_of(const LossStep& step, const Config& config) {
  double worst = 0;
  for (const LayoutDeviation& found : check_layouts(step, config)) worst = std::max(worst, found.worst());
  return worst;
}

}  // namespace

TEST_CASE("a step trains on the losses and gradients of its mini-batches under every layout", "[train]") {
  const auto modes = enum_names(AggMode{});
  const std::vector<const char*> estimators = {
      "gae", "grpo", "remax", "rloo", "reinforce_plus_plus", "optimal_token_baseline", "gdpo", "gdpo_verl"};
  const std::vector<std::string> variants = {"ppo", "seq", "tis", "topr", "cispo", "kimi15", "gmpo", "sapo", "dppo_tv"};
  for (size_t m = 0; m < modes.size(); ++m)
    for (size_t v = 0; v < variants.size(); v += 4) {
      const size_t i = m + v;  // over the modes, every variant and estimator
      const std::string& variant = variants[i % variants.size()];
      const char* estimator = estimators[i % estimators.size()];
      const Config config = config_with(modes[m].value, variant, estimator, static_cast<int64_t>(i + 1));
      for (const LayoutDeviation& found : check_layouts(random_loss_step(config), config)) {
        INFO(modes[m].name << " " << variant << " " << estimator << " " << found.role << " " << found.layout);
        CHECK(found.loss < 3e-7);
        CHECK(found.gradient < 3e-7);
      }
    }
}

TEST_CASE("layouts are checked of both roles, where each rank has a sequence", "[train]") {
  const Config config = plain_config();
  LossStep step = random_loss_step(config);
  const auto all = check_layouts(step, config);
  CHECK(all.size() == 60);
  CHECK(all.front().role == "actor");
  CHECK(all.front().layout == "ranks 1, micro-batches of 1 sequence, shuffle 1");
  CHECK(all.back().role == "critic");
  const int64_t group_size = config.num_return_sequences_in_group;
  step.records.resize(static_cast<size_t>(group_size));
  for (RolloutRecord& record : step.records) {
    record.finish_reason = "stop";
    record.is_judged = true;
  }
  CHECK(group_size == 3);
  const auto of_one_update = check_layouts(make_loss_step(step.records, config), config);
  CHECK(of_one_update.size() == 40);  // without those of four ranks
  for (const LayoutDeviation& found : of_one_update) CHECK(found.worst() < 3e-7);
}

TEST_CASE("a loss scale of the number of micro-batches is a layout's", "[train]") {
  Config config = plain_config();
  config.actor_train.apply_loss_scale = false;
  CHECK(worst_of(random_loss_step(config), config) > 0.5);
}

TEST_CASE("a mini-batch without a token is nothing to check a loss with", "[train]") {
  const Config config = plain_config();
  LossStep step = random_loss_step(config);
  for (RolloutRecord& record : step.records) record.finish_reason = "length";
  CHECK_THROWS_AS(check_layouts(step, config), UserError);
}

}  // namespace roll
