#include "experience/build.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <numeric>

#include "base/error.h"
#include "experience/simulated_ranks.h"
#include "golden_maths.h"

namespace roll {
namespace {

using testing::as_map;
using testing::floats;

/// The golden batch before its rewards.
Experience golden_batch(const Json& golden) {
  const std::vector<int64_t> prompts = golden["prompt_lengths"], responses = golden["response_lengths"];
  const std::vector<int64_t> groups = golden["group_index"], truncated = golden["truncated"];
  const std::vector<double> scores = golden["scores"];
  std::vector<Sample> samples;
  for (size_t b = 0; b < prompts.size(); ++b)
    samples.push_back({std::vector<int64_t>(prompts[b], 1), std::vector<int64_t>(responses[b], 2),
                       static_cast<int64_t>(b), groups[b], scores[b], truncated[b] == 1});
  Experience experience = make_experience(samples);
  const Json& in = golden["inputs"];
  experience.old_log_probs = floats(in["old_log_probs"]);
  experience.sampler_log_probs = floats(in["sampler_log_probs"]);
  experience.ref_log_probs = floats(in["ref_log_probs"]);
  experience.values = floats(in["values"]);
  return experience;
}

}  // namespace

TEST_CASE("masks, rewards, advantages and metrics are those of PyTorch in float64", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  for (const Json& expected : golden["cases"]) {
    INFO(expected["config"].dump());
    const auto config = testing::config_from<ExperienceConfig>(expected["config"]);
    Experience experience = golden_batch(golden);
    ExperienceState state(config);
    const Metrics metrics = complete_experience(experience, config, 3, state, {});
    CHECK(at::equal(experience.final_response_mask(), floats(expected["final_response_mask"])));
    REQUIRE(experience.is_weights.defined() == !expected["is_weights"].is_null());
    if (experience.is_weights.defined())
      CHECK(testing::near(experience.is_weights, floats(expected["is_weights"]), 1e-6));
    CHECK(testing::near(experience.token_rewards, floats(expected["token_rewards"]), 1e-6));
    CHECK(testing::near(experience.advantages, floats(expected["advantages"]), 1e-6));
    CHECK(testing::near(experience.returns, floats(expected["returns"]), 1e-6));
    testing::check_metrics(expected["metrics"], as_map(metrics), 1e-5);
    CHECK(state.kl.coefficient() == Approx(expected["next_kl_coef"].get<double>()).epsilon(1e-7));
  }
}

TEST_CASE("two and three ranks compute what one does, with groups spread over them", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  for (const Json& expected : golden["cases"]) {
    INFO(expected["config"].dump());
    const auto config = testing::config_from<ExperienceConfig>(expected["config"]);
    Experience whole = golden_batch(golden);
    ExperienceState state(config);
    const auto expected_metrics = as_map(complete_experience(whole, config, 3, state, {}));
    for (const int num_ranks : {2, 3}) {
      const std::vector<std::vector<int64_t>> shares =
          num_ranks == 2 ? std::vector<std::vector<int64_t>>{{6, 1, 2}, {0, 3, 5, 4}}
                         : std::vector<std::vector<int64_t>>{{2}, {}, {0, 1, 3, 4, 5, 6}};  // a rank may have nothing
      std::vector<Experience> parts(num_ranks);
      std::vector<Metrics> metrics(num_ranks);
      std::vector<double> coefficients(num_ranks);
      testing::on_ranks(num_ranks, [&](int rank, const AllReduce& all_reduce) {
        Experience part = select(golden_batch(golden), shares[rank]);
        ExperienceState own(config);
        metrics[rank] = complete_experience(part, config, 3, own, all_reduce);
        coefficients[rank] = own.kl.coefficient();
        parts[rank] = part;
      });
      for (int rank = 0; rank < num_ranks; ++rank) {
        const Experience same = select(whole, shares[rank]);
        CHECK(at::equal(parts[rank].final_response_mask(), same.final_response_mask()));
        for (const auto tensor : {&Experience::token_rewards, &Experience::advantages, &Experience::returns})
          CHECK(testing::near(parts[rank].*tensor, same.*tensor, 1e-7));
        CHECK(coefficients[rank] == Approx(state.kl.coefficient()).epsilon(1e-12));
        if (rank > 0) metrics[0].merge(metrics[rank]);
      }
      const auto merged = as_map(metrics[0]);
      REQUIRE(merged.size() == expected_metrics.size());
      for (const auto& [name, value] : expected_metrics) {
        INFO(name);
        CHECK(merged.at(name) == Approx(value).epsilon(1e-7).margin(1e-9));
      }
    }
  }
}

TEST_CASE("group ratios tell right, wrong and mixed groups apart", "[experience]") {
  const auto sample = [](int64_t group, double score) { return Sample{{1}, {2, 3}, 0, group, score, false}; };
  Experience experience = make_experience({sample(0, 1), sample(0, 1), sample(1, 0), sample(1, -1), sample(2, 1),
                                           sample(2, 0), sample(3, 0.5), sample(3, 0.5)});
  ExperienceConfig config{.adv_estimator = AdvEstimator::kReinforce};
  ExperienceState state(config);
  const auto metrics = as_map(complete_experience(experience, config, 4, state, {}));
  CHECK(metrics.at("group/all_correct_ratio") == 0.25);
  CHECK(metrics.at("group/all_incorrect_ratio") == 0.25);
  CHECK(metrics.at("group/mixed_ratio") == 0.5);
  CHECK(metrics.at("token/prompt_length/mean") == 1);
  CHECK(metrics.at("token/response_length/max") == 2);
  CHECK(metrics.at("token/total_length/min") == 3);
  CHECK(metrics.at("actor/final_mask_ratio") == 1);
  CHECK_FALSE(metrics.contains("critic/kl"));
  CHECK_FALSE(metrics.contains("critic/values/mean"));
}

TEST_CASE("masks and group ratios read scores, advantages read rewards", "[experience]") {
  const auto sample = [](double score, double reward) {
    return Sample{.prompt_ids = {1}, .response_ids = {2}, .score = score, .reward = reward};
  };
  // Penalties made the group's rewards useless to a difficulty mask; its scores are not.
  Experience experience = make_experience({sample(1, -0.5), sample(0, -1)});
  ExperienceConfig config{.adv_estimator = AdvEstimator::kReinforce, .difficulty_mask = true};
  ExperienceState state(config);
  const auto metrics = as_map(complete_experience(experience, config, 1, state, {}));
  CHECK(metrics.at("actor/final_mask_ratio") == 1);
  CHECK(metrics.at("group/mixed_ratio") == 1);
  CHECK(metrics.at("critic/score/mean") == 0.5);
  CHECK(metrics.at("critic/rewards/mean") == -0.75);
  CHECK(at::equal(experience.advantages, at::tensor({-0.5, 0., -1., 0.}, at::kFloat)));
}

TEST_CASE("a batch of one token is not whitened, an all-masked one gives zeros", "[experience]") {
  ExperienceConfig config{.adv_estimator = AdvEstimator::kReinforce, .whiten_rewards = true, .whiten_advantages = true};
  ExperienceState state(config);
  Experience one = make_experience({{{1, 1}, {2}, 0, 0, 3, false}});
  complete_experience(one, config, 1, state, {});
  CHECK(at::equal(one.advantages, at::tensor({0., 3., 0.}, at::kFloat)));
  config.max_len_mask = true;
  Experience masked = make_experience({{{1, 1}, {2, 2}, 0, 0, 3, true}});
  complete_experience(masked, config, 1, state, {});
  CHECK(at::equal(masked.final_response_mask(), at::zeros({4})));
  CHECK(at::equal(masked.advantages, at::zeros({4})));
  CHECK(masked.returns.isfinite().all().item<bool>());
}

TEST_CASE("what a configuration needs and does not get is said", "[experience]") {
  Experience experience = make_experience({{{1}, {2, 2}, 0, 0, 1, false}});
  ExperienceConfig config;
  ExperienceState state(config);
  CHECK(needs_values(config));
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state, {}), Bug);
  config = {.adv_estimator = AdvEstimator::kReinforce, .add_token_level_kl = true};
  CHECK(needs_ref_log_probs(config));
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state, {}), Bug);
  config.init_kl_coef = 0;  // no penalty, no reference
  CHECK_FALSE(needs_ref_log_probs(config));
  CHECK_NOTHROW(complete_experience(experience, config, 1, state, {}));
  config = {.adv_estimator = AdvEstimator::kGrpo};
  CHECK_THROWS_WITH(complete_experience(experience, config, 1, state, {}),
                    Catch::Contains("norm_std_type = group") && Catch::Contains("num_return_sequences_in_group > 1"));
  config = {.adv_estimator = AdvEstimator::kReinforce, .norm_std_type = NormType::kBatch};
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state, {}), UserError);
  config = {.adv_estimator = AdvEstimator::kReinforce, .error_max_len_clip = true};
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state, {}), UserError);
  config = {.adv_estimator = AdvEstimator::kReinforce};
  CHECK_THROWS_AS(complete_experience(experience, config, 0, state, {}), Bug);  // its group has no number
}

TEST_CASE("the state of a step survives a restart", "[experience]") {
  ExperienceConfig config{.adv_estimator = AdvEstimator::kReinforce,
                          .norm_mean_type = NormType::kRunning,
                          .norm_std_type = NormType::kRunning,
                          .target_kl = 0.1,
                          .kl_horizon = 10};
  const Json golden = testing::golden_maths("experience");
  ExperienceState straight(config);
  Experience first = golden_batch(golden);
  complete_experience(first, config, 3, straight, {});
  ExperienceState resumed(config);
  resumed.load_state(parse_json(to_line(straight.state()), "state"));
  Experience a = golden_batch(golden), b = golden_batch(golden);
  a.rewards[0] = b.rewards[0] = 5;
  complete_experience(a, config, 3, straight, {});
  complete_experience(b, config, 3, resumed, {});
  CHECK(at::equal(a.advantages, b.advantages));
  CHECK(straight.kl.coefficient() == resumed.kl.coefficient());
  CHECK(straight.kl.coefficient() != config.init_kl_coef);
}

}  // namespace roll
