#include "experience/rewards.h"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>

#include "base/error.h"

namespace roll {
namespace {

Sample sample(int64_t group, double score, int64_t num_tokens = 1, bool truncated = false) {
  return {{1}, std::vector<int64_t>(num_tokens, 2), 0, group, score, truncated};
}

std::vector<char> mask_of(const std::vector<Sample>& samples, const ExperienceConfig& config, int64_t num_groups) {
  return sample_mask(facts_of(make_experience(samples)), config, num_groups);
}

std::vector<double> rewards_of(const std::vector<Sample>& samples, const ExperienceConfig& config, int64_t num_groups) {
  RunningMoments running;
  return normalised_rewards(facts_of(make_experience(samples)), config, num_groups, running);
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

}  // namespace roll
