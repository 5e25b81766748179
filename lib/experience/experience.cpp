#include "experience/experience.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {

const std::array<at::Tensor Experience::*, 8> Experience::kTokenTensors{
    &Experience::sampler_log_probs, &Experience::old_log_probs, &Experience::is_weights,
    &Experience::ref_log_probs,     &Experience::values,        &Experience::token_rewards,
    &Experience::advantages,        &Experience::returns};

Experience make_experience(const std::vector<Sample>& samples) {
  Experience experience;
  std::vector<int64_t> ids, positions;
  experience.tokens.cu_seqlens = {0};
  for (const Sample& sample : samples) {
    ROLL_CHECK(!sample.prompt_ids.empty(), "the first response token is predicted from a prompt");
    ids.insert(ids.end(), sample.prompt_ids.begin(), sample.prompt_ids.end());
    ids.insert(ids.end(), sample.response_ids.begin(), sample.response_ids.end());
    for (size_t t = 0; t < sample.prompt_ids.size() + sample.response_ids.size(); ++t)
      positions.push_back(static_cast<int64_t>(t));
    experience.tokens.cu_seqlens.push_back(static_cast<int64_t>(ids.size()));
    experience.sequence_index.push_back(sample.sequence_index);
    experience.group_index.push_back(sample.group_index);
    experience.prompt_lengths.push_back(static_cast<int64_t>(sample.prompt_ids.size()));
    experience.response_lengths.push_back(static_cast<int64_t>(sample.response_ids.size()));
    experience.scores.push_back(sample.score);
    experience.rewards.push_back(sample.reward.value_or(sample.score));
    experience.judged.push_back(sample.is_judged);
    if (sample.baseline) experience.baselines.push_back(*sample.baseline);
    experience.domains.push_back(sample.domain);
    experience.truncated.push_back(sample.truncated);
    experience.difficulties.push_back(sample.difficulty);
  }
  ROLL_CHECK(experience.baselines.empty() || experience.baselines.size() == samples.size(),
             "either all samples have a baseline, or none");
  experience.tokens.ids = at::tensor(ids, at::kLong);
  experience.tokens.positions = at::tensor(positions, at::kLong);
  experience.masks["response_mask"] = make_response_mask(experience.prompt_lengths, experience.response_lengths);
  for (size_t b = 0; b < samples.size(); ++b)
    if (!samples[b].is_judged)
      response_part(experience, experience.masks["response_mask"], static_cast<int64_t>(b)).zero_();
  experience.sampler_log_probs = at::zeros_like(experience.response_mask());
  for (size_t b = 0; b < samples.size(); ++b) {
    if (samples[b].log_probs.empty()) continue;
    ROLL_CHECK_EQ(samples[b].log_probs.size(), samples[b].response_ids.size(), "a log-prob for every response token");
    response_part(experience, experience.sampler_log_probs, static_cast<int64_t>(b))
        .copy_(at::tensor(samples[b].log_probs, at::kFloat));
  }
  return experience;
}

at::Tensor make_response_mask(const std::vector<int64_t>& prompt_lengths,
                              const std::vector<int64_t>& response_lengths) {
  ROLL_CHECK_EQ(prompt_lengths.size(), response_lengths.size(), "every prompt has its response");
  std::vector<float> mask;
  for (size_t b = 0; b < prompt_lengths.size(); ++b) {
    // Index t is about token t + 1: the prompt's last token predicts the first response token, and the response's last
    // token predicts nothing.
    mask.insert(mask.end(), prompt_lengths[b] - 1, 0.0F);
    mask.insert(mask.end(), response_lengths[b], 1.0F);
    mask.push_back(0.0F);
  }
  return at::tensor(mask, at::kFloat);
}

Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices) {
  Experience part;
  static_cast<Batch&>(part) = select(static_cast<const Batch&>(experience), sequence_indices);
  part.prompt_lengths = picked(experience.prompt_lengths, sequence_indices);
  part.response_lengths = picked(experience.response_lengths, sequence_indices);
  part.scores = picked(experience.scores, sequence_indices);
  part.rewards = picked(experience.rewards, sequence_indices);
  part.judged = picked(experience.judged, sequence_indices);
  part.domains = picked(experience.domains, sequence_indices);
  part.truncated = picked(experience.truncated, sequence_indices);
  part.difficulties = picked(experience.difficulties, sequence_indices);
  if (!experience.baselines.empty()) part.baselines = picked(experience.baselines, sequence_indices);
  if (!experience.sample_weights.empty()) part.sample_weights = picked(experience.sample_weights, sequence_indices);
  const at::Tensor tokens = token_indices(experience, sequence_indices);
  for (const auto tensor : Experience::kTokenTensors)
    if ((experience.*tensor).defined()) part.*tensor = (experience.*tensor).index_select(0, tokens);
  return part;
}

Experience to_device(Experience experience, at::Device device) {
  static_cast<Batch&>(experience) = to_device(static_cast<Batch&>(experience), device);
  for (const auto tensor : Experience::kTokenTensors)
    if ((experience.*tensor).defined()) experience.*tensor = (experience.*tensor).to(device);
  return experience;
}

at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence) {
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + experience.prompt_lengths[sequence] - 1;
  return tensor.slice(0, begin, begin + experience.response_lengths[sequence]);
}

at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor) {
  const at::Tensor sums = at::zeros({experience.num_sequences()}, at::kDouble);
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    sums[b] = response_part(experience, tensor, b).to(at::kDouble).sum();
  return sums;
}

}  // namespace roll
