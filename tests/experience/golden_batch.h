// The batch of tests/golden whose completed experience PyTorch computed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experience/experience.h"
#include "golden_maths.h"
#include "sample.h"

namespace roll::testing {

/// Before its experience is completed; nobody could judge one of its seven sequences.
inline Experience golden_batch(const Json& golden, int64_t step = 0,
                               const std::vector<std::string>& domains = std::vector<std::string>(7),
                               std::optional<size_t> unjudged = std::nullopt) {
  const std::vector<int64_t> prompts = golden["prompt_lengths"], responses = golden["response_lengths"];
  const std::vector<int64_t> groups = golden["group_index"], truncated = golden["truncated"];
  const std::vector<double> scores = golden["scores"], rewards = golden["rewards"][step];
  const std::vector<double> baselines = golden["baselines"];
  std::vector<Sample> samples;
  for (size_t b = 0; b < prompts.size(); ++b)
    samples.push_back({.prompt_ids = std::vector<int64_t>(prompts[b], 1),
                       .response_ids = std::vector<int64_t>(responses[b], 2),
                       .sequence_index = static_cast<int64_t>(b),
                       .group_index = groups[b],
                       .score = scores[b],
                       .truncated = truncated[b] == 1,
                       .reward = b == unjudged ? 1e3 : rewards[b],
                       .is_judged = b != unjudged,
                       .baseline = baselines[groups[b]],
                       .domain = domains[b],
                       .parts = reward_parts({{"parts", golden["parts"][b]}}, 0)});
  Experience experience = make_experience(samples);
  const Json& in = golden["inputs"];
  experience.old_log_probs = floats(in["old_log_probs"]);
  experience.energies = floats(in["energies"]);
  experience.sampler_log_probs = floats(in["sampler_log_probs"]);
  experience.ref_log_probs = floats(in["ref_log_probs"]);
  experience.values = floats(in["values"]);
  return experience;
}

}  // namespace roll::testing
