#include "experience/rewards.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "base/error.h"
#include "sample.h"

namespace roll {
namespace {

Sample sample(int64_t group, double score, int64_t num_tokens = 1, bool truncated = false) {
  return {{1}, std::vector<int64_t>(num_tokens, 2), 0, group, score, truncated};
}

std::vector<char> mask_of(const std::vector<Sample>& samples, const ExperienceConfig& config, int64_t num_groups) {
  return sample_mask(step_facts(make_experience(samples)), config, num_groups);
}

std::vector<double> rewards_of(const std::vector<Sample>& samples, const ExperienceConfig& config, int64_t num_groups) {
  RunningMoments running;
  return normalised_rewards(step_facts(make_experience(samples)), config, num_groups, running);
}

}  // namespace

TEST_CASE("difficulty_mask keeps groups strictly between the thresholds", "[experience]") {
  const std::vector<Sample> samples{sample(0, 0.25), sample(0, 0.25), sample(1, 0), sample(1, 1),
                                    sample(2, 0.5),  sample(2, 1),    sample(3, 0), sample(3, 0)};
  const ExperienceConfig config{
      .difficulty_mask = true, .difficulty_low_threshold = 0.25, .difficulty_high_threshold = 0.75};
  CHECK(mask_of(samples, config, 4) == std::vector<char>{0, 0, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("error_max_len_clip takes out wrong responses from the threshold on", "[experience]") {
  const ExperienceConfig config{.error_max_len_clip = true, .error_max_len_threshold = 3};
  CHECK(mask_of({sample(0, 0, 2), sample(0, 0, 3), sample(0, -1, 9), sample(0, 1, 9), sample(0, 0.5, 9)}, config, 1) ==
        std::vector<char>{1, 0, 0, 1, 1});
}

TEST_CASE("max_len_mask takes out truncated responses, and only when asked to", "[experience]") {
  const std::vector<Sample> samples{sample(0, 1, 4, true), sample(0, 1, 4, false)};
  CHECK(mask_of(samples, {.max_len_mask = true}, 1) == std::vector<char>{0, 1});
  CHECK(mask_of(samples, {}, 1) == std::vector<char>{1, 1});
}

TEST_CASE("masks look at the verdict, whatever penalties leave of it", "[experience]") {
  const auto penalised = [](int64_t group, double score) {
    return Sample{
        .prompt_ids = {1}, .response_ids = {2, 2, 2}, .group_index = group, .score = score, .reward = score - 0.5};
  };
  const std::vector<Sample> samples{penalised(0, 0.5), penalised(0, 1), penalised(1, 0), penalised(1, 0.5)};
  CHECK(mask_of(samples, {.difficulty_mask = true, .difficulty_low_threshold = 0.3}, 2) ==
        std::vector<char>{1, 1, 0, 0});
  CHECK(mask_of(samples, {.error_max_len_clip = true, .error_max_len_threshold = 3}, 2) ==
        std::vector<char>{1, 1, 0, 1});
  CHECK(rewards_of(samples, {.norm_mean_type = NormType::kGroup}, 2) == std::vector<double>{-0.25, 0.25, -0.25, 0.25});
}

TEST_CASE("a group that agrees gets rewards of zero", "[experience]") {
  const std::vector<double> rewards = rewards_of(
      {sample(0, 0.1), sample(0, 0.1), sample(0, 0.1), sample(1, 0), sample(1, 1)}, {.adv_estimator = "grpo"}, 2);
  for (int b = 0; b < 3; ++b) CHECK(std::abs(rewards[b]) < 1e-9);
  CHECK(rewards[4] == Approx(0.5 / (std::sqrt(0.5) + 1e-6)));
}

TEST_CASE("a response without parts has 0 of each, and a part that one domain alone has is no other's",
          "[experience]") {
  const auto sample = [](int64_t group, std::vector<RewardPart> parts) {
    return Sample{.prompt_ids = {1}, .response_ids = {2}, .group_index = group, .parts = std::move(parts)};
  };
  StepFacts step = step_facts(make_experience(
      {sample(0, {{1, 1}, {3, 0}}), sample(0, {{1, 0}, {3, 1}}), sample(1, {{1, 5}}), sample(1, {{1, 0}})}));
  step.responses[3].parts.clear();
  // Either of two responses is sqrt(1/2) deviations away from their mean: +-(1 - 3) and +-1 of these.
  const auto rewards = decoupled_rewards(step, 2, /*over_batch=*/true);
  const double batch = std::sqrt((4 + 4 + 1 + 1) / 3.0);
  CHECK(rewards[0] == Approx(-2 / batch).epsilon(1e-5));
  CHECK(rewards[1] == Approx(2 / batch).epsilon(1e-5));
  CHECK(rewards[2] == Approx(1 / batch).epsilon(1e-5));
  CHECK(rewards[3] == Approx(-1 / batch).epsilon(1e-5));
  CHECK(decoupled_rewards(step, 2, /*over_batch=*/false)[0] == Approx(-2 * std::sqrt(0.5)).epsilon(1e-5));
}

}  // namespace roll
