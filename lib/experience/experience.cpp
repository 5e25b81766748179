#include "experience/experience.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace roll {
namespace {

template <class T>
std::vector<T> picked(const std::vector<T>& values, const std::vector<int64_t>& indices) {
  std::vector<T> result;
  result.reserve(indices.size());
  for (const int64_t i : indices) result.push_back(values[i]);
  return result;
}

/// [sum of the lengths] int64: token indices of the sequences, one after the other.
at::Tensor token_indices(const std::vector<int64_t>& cu_seqlens, const std::vector<int64_t>& sequences) {
  std::vector<int64_t> tokens;
  for (const int64_t b : sequences)
    for (int64_t t = cu_seqlens[b]; t < cu_seqlens[b + 1]; ++t) tokens.push_back(t);
  return at::tensor(tokens, at::kLong);
}

at::Tensor picked(const at::Tensor& tensor, const at::Tensor& tokens) {
  return tensor.defined() ? tensor.index_select(0, tokens) : tensor;
}

}  // namespace

const std::array<at::Tensor Experience::*, 10> Experience::kTokenTensors{
    &Experience::response_mask, &Experience::final_response_mask, &Experience::sampler_log_probs,
    &Experience::old_log_probs, &Experience::is_weights,          &Experience::ref_log_probs,
    &Experience::values,        &Experience::token_rewards,       &Experience::advantages,
    &Experience::returns};

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
    experience.truncated.push_back(sample.truncated);
    experience.difficulties.push_back(sample.difficulty);
  }
  experience.tokens.ids = at::tensor(ids, at::kLong);
  experience.tokens.positions = at::tensor(positions, at::kLong);
  experience.response_mask = make_response_mask(experience.prompt_lengths, experience.response_lengths);
  experience.sampler_log_probs = at::zeros_like(experience.response_mask);
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
  for (const int64_t b : sequence_indices)
    ROLL_CHECK(b >= 0 && b < experience.num_sequences(), "only sequences of this experience can be selected");
  const at::Tensor tokens = token_indices(experience.tokens.cu_seqlens, sequence_indices);
  Experience part;
  part.tokens.ids = experience.tokens.ids.index_select(0, tokens);
  part.tokens.positions = experience.tokens.positions.index_select(0, tokens);
  part.tokens.cu_seqlens = {0};
  for (const int64_t b : sequence_indices)
    part.tokens.cu_seqlens.push_back(part.tokens.cu_seqlens.back() + experience.tokens.length(b));
  part.sequence_index = picked(experience.sequence_index, sequence_indices);
  part.group_index = picked(experience.group_index, sequence_indices);
  part.prompt_lengths = picked(experience.prompt_lengths, sequence_indices);
  part.response_lengths = picked(experience.response_lengths, sequence_indices);
  part.scores = picked(experience.scores, sequence_indices);
  part.truncated = picked(experience.truncated, sequence_indices);
  part.difficulties = picked(experience.difficulties, sequence_indices);
  if (!experience.sample_weights.empty()) part.sample_weights = picked(experience.sample_weights, sequence_indices);
  for (const auto tensor : Experience::kTokenTensors) part.*tensor = picked(experience.*tensor, tokens);
  return part;
}

at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence) {
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + experience.prompt_lengths[sequence] - 1;
  return tensor.slice(0, begin, begin + experience.response_lengths[sequence]);
}

}  // namespace roll
