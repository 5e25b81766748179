#include "experience/build.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "golden_batch.h"
#include "sample.h"

namespace roll {
namespace {

using testing::as_map;
using testing::floats;
using testing::golden_batch;

}  // namespace

TEST_CASE("masks, rewards, advantages and metrics are those of PyTorch in float64", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  for (const Json& expected : golden["cases"]) {
    INFO(expected["config"].dump() << ", steps " << expected["steps"] << ", domains " << expected["domains"]);
    const auto config = testing::config_from<ExperienceConfig>(expected["config"]);
    ExperienceState state(config);
    Experience experience;
    Metrics metrics;
    for (int64_t step = 0; step < expected["steps"]; ++step) {
      experience = golden_batch(golden, step, expected["domains"]);
      metrics = complete_experience(experience, config, 3, state);
    }
    CHECK(at::equal(experience.final_response_mask(), floats(expected["final_response_mask"])));
    CHECK(at::equal(experience.positive_response_mask(), floats(expected["positive_response_mask"])));
    REQUIRE(experience.is_weights.defined() == !expected["is_weights"].is_null());
    if (experience.is_weights.defined())
      CHECK(testing::near(experience.is_weights, floats(expected["is_weights"]), 1e-6));
    CHECK(testing::near(experience.token_rewards, floats(expected["token_rewards"]), 1e-6));
    CHECK(testing::near(experience.advantages, floats(expected["advantages"]), 1e-6));
    CHECK(testing::near(experience.returns, floats(expected["returns"]), 1e-6));
    testing::check_metrics(expected["metrics"], as_map(metrics), 1e-5);
    for (const auto& [domain, coefficient] : expected["next_kl_coef"].items())
      CHECK(state.domain_state(domain).kl.coefficient() == Approx(coefficient.get<double>()).epsilon(1e-7));
  }
}

TEST_CASE("a domain is completed as if the step had no other, and a batch as if it had no domains", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  const std::vector<std::string> domains{"a", "a", "b", "b", "a", "a", "a"};
  const std::vector<int64_t> of_a{0, 1, 4, 5, 6};
  for (const Json& expected : golden["cases"]) {
    if (expected["steps"] != 1) continue;
    INFO(expected["config"].dump());
    auto config = testing::config_from<ExperienceConfig>(expected["config"]);
    const auto completed = [&](Experience experience) {
      ExperienceState state(config);
      complete_experience(experience, config, 3, state);
      return experience;
    };
    const auto equals = [](const Experience& one, const Experience& other) {
      bool is_same = at::equal(one.final_response_mask(), other.final_response_mask());
      for (const auto tensor : {&Experience::token_rewards, &Experience::advantages, &Experience::returns})
        is_same &= at::equal(one.*tensor, other.*tensor);
      return is_same;
    };
    config.statistics_per_domain = true;
    CHECK(equals(select(completed(golden_batch(golden, 0, domains)), of_a),
                 completed(select(golden_batch(golden), of_a))));
    config.statistics_per_domain = false;
    CHECK(equals(completed(golden_batch(golden, 0, domains)), completed(golden_batch(golden))));
  }
}

TEST_CASE("a response that nobody could judge is as if it were not there", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  const std::vector<int64_t> groups = golden["group_index"];
  for (size_t unjudged = 0; unjudged < groups.size(); ++unjudged) {
    if (std::ranges::count(groups, groups[unjudged]) < 3) continue;  // the others must still be a group
    std::vector<int64_t> others;
    for (int64_t b = 0; b < std::ssize(groups); ++b)
      if (b != static_cast<int64_t>(unjudged)) others.push_back(b);
    for (const Json& expected : golden["cases"]) {
      INFO("without " << unjudged << ", " << expected["config"].dump());
      const auto config = testing::config_from<ExperienceConfig>(expected["config"]);
      ExperienceState state(config), state_of_others(config);
      Experience all = golden_batch(golden, 0, expected["domains"], unjudged);
      Experience rest = select(golden_batch(golden, 0, expected["domains"]), others);
      auto metrics = as_map(complete_experience(all, config, 3, state));
      auto metrics_of_rest = as_map(complete_experience(rest, config, 3, state_of_others));
      const Experience compared = select(all, others);
      CHECK(at::equal(compared.final_response_mask(), rest.final_response_mask()));
      CHECK(at::equal(compared.positive_response_mask(), rest.positive_response_mask()));
      CHECK(testing::near(compared.token_rewards, rest.token_rewards, 1e-6));
      CHECK(testing::near(compared.advantages, rest.advantages, 1e-6));
      CHECK(testing::near(compared.returns, rest.returns, 1e-6));
      CHECK(metrics.at("actor/final_mask_ratio") < 1);
      for (auto* of : {&metrics, &metrics_of_rest})
        std::erase_if(*of, [](const auto& metric) {  // what counts responses, whoever judged them
          return metric.first.find("length") != std::string::npos || metric.first.find("mask") != std::string::npos;
        });
      REQUIRE(metrics.size() == metrics_of_rest.size());
      for (const auto& [name, value] : metrics_of_rest) CHECK(metrics.at(name) == Approx(value).margin(1e-6));
    }
  }
}

TEST_CASE("completing a copy leaves the other alone", "[experience]") {
  const Json golden = testing::golden_maths("experience");
  ExperienceConfig config;
  ExperienceState state(config);
  Experience first = golden_batch(golden);
  complete_experience(first, config, 3, state);
  const at::Tensor before = first.advantages.clone();
  Experience second = first;
  second.responses[0].reward = 100;
  complete_experience(second, config, 3, state);
  CHECK(at::equal(first.advantages, before));
  CHECK_FALSE(at::equal(second.advantages, before));
}

TEST_CASE("importance weights without an upper bound are finite all the same", "[experience]") {
  Experience e = make_experience({{.prompt_ids = {1}, .response_ids = {2, 2}, .log_probs = {-60, -60}}});
  e.old_log_probs = at::zeros_like(e.sampler_log_probs);
  ExperienceConfig config{.adv_estimator = "reinforce"};
  config.train_infer_correction.is_weight = {
      .enabled = true, .weight_type = CorrectionLevel::kSequence, .upper_bound = std::nullopt};
  ExperienceState state(config);
  for (const auto& [name, value] : as_map(complete_experience(e, config, 1, state))) {
    INFO(name);
    CHECK(std::isfinite(value));
  }
  CHECK(e.is_weights.isfinite().all().item<bool>());
}

TEST_CASE("every estimator is reached by its name, and says what it needs", "[experience]") {
  for (const AdvantageEstimator& estimator : registry(static_cast<const AdvantageEstimator*>(nullptr))) {
    CHECK(&*Chosen<AdvantageEstimator>(estimator.name) == &estimator);
    Experience experience = make_experience({{{1}, {2, 2}, 0, 0, 1, false}, {{1}, {2, 2}, 1, 0, 0, false}});
    ExperienceConfig config{.adv_estimator = Chosen(estimator)};
    CHECK(config.normalisation().mean == estimator.normalisation.mean);
    CHECK(config.normalisation().deviation == estimator.normalisation.deviation);
    CHECK(config.whitens() == estimator.whitens);
    ExperienceState state(config);
    if (estimator.needs_values || estimator.samples_baseline || estimator.reads_energies || estimator.separates_rewards)
      CHECK_THROWS_AS(complete_experience(experience, config, 1, state), Bug);
    else if (estimator.weighs_turns)
      CHECK_THROWS_AS(complete_experience(experience, config, 1, state), UserError);
    else
      CHECK_NOTHROW(complete_experience(experience, config, 1, state));
  }
}

TEST_CASE("a group is mixed where its rewards differ, on any scale", "[experience]") {
  const auto sample = [](int64_t group, double score) { return Sample{{1}, {2, 3}, 0, group, score, false}; };
  Experience experience = make_experience({sample(0, 4), sample(0, 4), sample(1, 0), sample(1, -1), sample(2, 5),
                                           sample(2, 2), sample(3, -0.5), sample(3, -0.5)});
  ExperienceConfig config{.adv_estimator = "reinforce"};
  ExperienceState state(config);
  const auto metrics = as_map(complete_experience(experience, config, 4, state));
  CHECK(metrics.at("group/all_correct_ratio") == 0.25);
  CHECK(metrics.at("group/all_incorrect_ratio") == 0.25);
  CHECK(metrics.at("group/mixed_ratio") == 0.5);
  // Both of one score, but a penalty tells them apart; what nobody judged tells nothing.
  experience =
      make_experience({{.prompt_ids = {1}, .response_ids = {2}, .score = 1, .reward = 0.5},
                       {.prompt_ids = {1}, .response_ids = {2}, .score = 1},
                       {.prompt_ids = {1}, .response_ids = {2}, .group_index = 1, .score = 0},
                       {.prompt_ids = {1}, .response_ids = {2}, .group_index = 1, .score = 1, .is_judged = false}});
  const auto penalised = as_map(complete_experience(experience, config, 2, state));
  CHECK(penalised.at("group/mixed_ratio") == 0.5);
  CHECK(penalised.at("group/all_incorrect_ratio") == 0.5);
  CHECK(metrics.at("token/prompt_length/mean") == 1);
  CHECK(metrics.at("token/response_length/max") == 2);
  CHECK(metrics.at("token/total_length/min") == 3);
  CHECK(metrics.at("actor/final_mask_ratio") == 1);
  CHECK_FALSE(metrics.contains("kl"));
  CHECK_FALSE(metrics.contains("critic/values/mean"));
}

TEST_CASE("masks and group ratios read scores, advantages read rewards", "[experience]") {
  const auto sample = [](double score, double reward) {
    return Sample{.prompt_ids = {1}, .response_ids = {2}, .score = score, .reward = reward};
  };
  // Penalties made the group's rewards useless to a difficulty mask; its scores are not.
  Experience experience = make_experience({sample(1, -0.5), sample(0, -1)});
  ExperienceConfig config{.adv_estimator = "reinforce", .difficulty_mask = true};
  ExperienceState state(config);
  const auto metrics = as_map(complete_experience(experience, config, 1, state));
  CHECK(metrics.at("actor/final_mask_ratio") == 1);
  CHECK(metrics.at("group/mixed_ratio") == 1);
  CHECK(metrics.at("score/mean") == 0.5);
  CHECK(metrics.at("rewards/mean") == -0.75);
  CHECK(at::equal(experience.advantages, at::tensor({-0.5, 0., -1., 0.}, at::kFloat)));
}

TEST_CASE("a batch of one token is not whitened, an all-masked one gives zeros", "[experience]") {
  ExperienceConfig config{.adv_estimator = "reinforce", .whiten_rewards = true, .whiten_advantages = true};
  ExperienceState state(config);
  Experience one = make_experience({{{1, 1}, {2}, 0, 0, 3, false}});
  complete_experience(one, config, 1, state);
  CHECK(at::equal(one.advantages, at::tensor({0., 3., 0.}, at::kFloat)));
  config.max_len_mask = true;
  Experience masked = make_experience({{{1, 1}, {2, 2}, 0, 0, 3, true}});
  complete_experience(masked, config, 1, state);
  CHECK(at::equal(masked.final_response_mask(), at::zeros({4})));
  CHECK(at::equal(masked.advantages, at::zeros({4})));
  CHECK(masked.returns.isfinite().all().item<bool>());
}

TEST_CASE("what a configuration needs and does not get is said", "[experience]") {
  Experience experience = make_experience({{{1}, {2, 2}, 0, 0, 1, false}});
  ExperienceConfig config;
  ExperienceState state(config);
  CHECK(config.adv_estimator->needs_values);
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state), Bug);
  config = {.adv_estimator = "reinforce", .add_token_level_kl = true};
  CHECK(config.penalises_kl());
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state), Bug);
  config.init_kl_coef = 0;  // no penalty, no reference
  CHECK_FALSE(config.penalises_kl());
  CHECK_NOTHROW(complete_experience(experience, config, 1, state));
  config = {.adv_estimator = "grpo"};
  CHECK_THROWS_WITH(complete_experience(experience, config, 1, state),
                    Catch::Contains("norm_std_type = group") && Catch::Contains("num_return_sequences_in_group > 1"));
  config = {.adv_estimator = "reinforce", .norm_std_type = NormType::kBatch};
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state), UserError);
  config = {.adv_estimator = "reinforce", .error_max_len_clip = true};
  CHECK_THROWS_AS(complete_experience(experience, config, 1, state), UserError);
  config = {.adv_estimator = "reinforce"};
  CHECK_THROWS_AS(complete_experience(experience, config, 0, state), Bug);  // its group has no number
}

TEST_CASE("the state of a step survives a restart", "[experience]") {
  ExperienceConfig config{.adv_estimator = "reinforce",
                          .norm_mean_type = NormType::kRunning,
                          .norm_std_type = NormType::kRunning,
                          .target_kl = 0.1,
                          .kl_horizon = 10};
  const Json golden = testing::golden_maths("experience");
  ExperienceState straight(config);
  const std::vector<std::string> domains{"a", "a", "b", "b", "a", "a", "a"};
  Experience first = golden_batch(golden, 0, domains);
  complete_experience(first, config, 3, straight);
  ExperienceState resumed(config);
  resumed.load_state(parse_json(to_line(straight.state()), "state"));
  Experience a = golden_batch(golden, 1, domains), b = golden_batch(golden, 1, domains);
  complete_experience(a, config, 3, straight);
  complete_experience(b, config, 3, resumed);
  CHECK(at::equal(a.advantages, b.advantages));
  for (const char* domain : {"a", "b"}) {
    CHECK(straight.domain_state(domain).kl.coefficient() == resumed.domain_state(domain).kl.coefficient());
    CHECK(straight.domain_state(domain).kl.coefficient() != config.init_kl_coef);
  }
  CHECK(straight.domain_state("a").kl.coefficient() != straight.domain_state("b").kl.coefficient());
}

}  // namespace roll
