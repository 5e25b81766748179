// Prompts and responses of which a test makes an experience.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experience/experience.h"

namespace roll {

struct Sample {
  std::vector<int64_t> prompt_ids;    // at least one
  std::vector<int64_t> response_ids;  // may be empty
  int64_t sequence_index = 0;
  int64_t group_index = 0;
  double score = 0;
  bool truncated = false;
  double difficulty = 0;
  std::vector<float> log_probs{};  // the sampler's, one per response token; empty: unknown
  std::optional<double> reward{};  // none: the score
  bool is_judged = true;
  std::optional<double> baseline{};
  std::string domain{};
  std::vector<RewardPart> parts{};
  Turns turns{};
};

/// Packs samples in the given order, with the response mask and the sampler's log-probs.
inline Experience make_experience(const std::vector<Sample>& samples) {
  StepFacts step;
  std::vector<int64_t> ids;
  for (const Sample& sample : samples) {
    ids.insert(ids.end(), sample.prompt_ids.begin(), sample.prompt_ids.end());
    ids.insert(ids.end(), sample.response_ids.begin(), sample.response_ids.end());
    step.responses.push_back({.group = sample.group_index,
                              .prompt_length = std::ssize(sample.prompt_ids),
                              .response_length = std::ssize(sample.response_ids),
                              .score = sample.score,
                              .reward = sample.reward.value_or(sample.score),
                              .difficulty = sample.difficulty,
                              .domain = sample.domain,
                              .is_judged = sample.is_judged,
                              .is_truncated = sample.truncated,
                              .baseline = sample.baseline,
                              .parts = sample.parts,
                              .turns = sample.turns});
  }
  Experience e = make_experience(step, first_numbers(step.num_sequences()), at::tensor(ids, at::kLong));
  e.sampler_log_probs = at::zeros_like(e.response_mask());
  for (size_t b = 0; b < samples.size(); ++b) {
    e.sequence_index[b] = samples[b].sequence_index;
    if (!samples[b].log_probs.empty())
      response_part(e, e.sampler_log_probs, static_cast<int64_t>(b))
          .copy_(at::tensor(samples[b].log_probs, at::kFloat));
  }
  return e;
}

}  // namespace roll
