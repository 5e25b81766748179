#include "experience/experience.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "device/transfers.h"

namespace roll {

namespace {

/// Returns [T] float32: 1 for sampled tokens of judged responses.
at::Tensor make_response_mask(const std::vector<ResponseFacts>& responses) {
  std::vector<float> mask;
  for (const ResponseFacts& r : responses) {
    ROLL_CHECK(r.prompt_length > 0, "the first response token is predicted from a prompt");
    // Index t refers to token t + 1: the prompt's last token predicts the first response token, and the response's last
    // token predicts nothing.
    const auto begin = static_cast<int64_t>(mask.size()) + r.prompt_length - 1;
    mask.resize(mask.size() + r.length());
    if (!r.is_judged) continue;
    if (r.turns.empty()) std::fill_n(mask.begin() + begin, r.response_length, 1.0F);
    for (const TurnFact& turn : r.turns) std::fill_n(mask.begin() + begin + turn.begin, turn.end - turn.begin, 1.0F);
  }
  return at::tensor(mask, at::kFloat);
}

}  // namespace

const std::array<at::Tensor Experience::*, 10> Experience::kTokenTensors{
    &Experience::sampler_log_probs, &Experience::old_log_probs, &Experience::energies, &Experience::is_weights,
    &Experience::ref_log_probs,     &Experience::teacher_kl,    &Experience::values,   &Experience::token_rewards,
    &Experience::advantages,        &Experience::returns};

StepFacts step_facts(const Experience& step) {
  return {step.responses};
}

Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids) {
  Experience experience;
  experience.responses = picked(step.responses, sequences);
  experience.sequence_index = sequences;
  experience.group_index = column(experience.responses, &ResponseFacts::group);
  std::vector<at::Tensor> positions = {at::empty({0}, at::kLong)};
  experience.tokens.cu_seqlens = experience.tokens.cu_contexts = {0};
  for (const ResponseFacts& r : experience.responses) {
    for (const int64_t length : context_lengths(r.prompt_length, r.response_length, r.turns)) {
      experience.tokens.cu_contexts.push_back(experience.tokens.cu_contexts.back() + length);
      positions.push_back(at::arange(length, at::kLong));
    }
    experience.tokens.cu_seqlens.push_back(experience.tokens.cu_contexts.back());
  }
  if (experience.tokens.cu_contexts == experience.tokens.cu_seqlens) experience.tokens.cu_contexts.clear();
  ROLL_CHECK_EQ(ids.numel(), experience.tokens.cu_seqlens.back(), "the ids cover every token of the sequences");
  experience.tokens.ids = std::move(ids);
  experience.tokens.positions = at::cat(positions);
  experience.masks["response_mask"] = make_response_mask(experience.responses);
  return experience;
}

Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices) {
  Experience part;
  static_cast<Batch&>(part) = select(static_cast<const Batch&>(experience), sequence_indices);
  part.responses = picked(experience.responses, sequence_indices);
  if (!experience.sample_weights.empty()) part.sample_weights = picked(experience.sample_weights, sequence_indices);
  const at::Tensor tokens = token_indices(experience, sequence_indices);
  for (const auto tensor : Experience::kTokenTensors)
    if ((experience.*tensor).defined()) part.*tensor = (experience.*tensor).index_select(0, tokens);
  return part;
}

void add_factors(Experience& micro_batch, bool needs_signs) {
  const auto add = [&](const std::vector<float>& factors) {
    micro_batch.factors.emplace_back(factors, spread(factors, micro_batch.axis(), at::kCPU));
  };
  if (!micro_batch.sample_weights.empty()) add(micro_batch.on_contexts(micro_batch.sample_weights));
  if (needs_signs) add(are_positive(micro_batch.scores_on_contexts()));
}

Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel) {
  if (device.is_meta() || device.is_cpu()) return experience;
  experience.on_host = std::make_shared<const Experience>(experience);
  add_layout(experience, parallel);
  std::vector<at::Tensor*> tensors = batch_tensors(experience);
  for (const auto tensor : Experience::kTokenTensors)
    if ((experience.*tensor).defined()) tensors.push_back(&(experience.*tensor));
  move_to_device(tensors, device);
  return experience;
}

std::vector<double> Experience::scores_on_contexts() const {
  return on_contexts(column(responses, &ResponseFacts::score));
}

at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence) {
  const ResponseFacts& response = experience.responses[sequence];
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + response.prompt_length - 1;
  return tensor.slice(0, begin, begin + response.response_length);
}

std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence) {
  const ResponseFacts& response = experience.responses[sequence];
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + response.prompt_length - 1;
  if (response.turns.empty()) return {{begin, begin + response.response_length}};
  std::vector<TokenSpan> spans;
  for (const TurnFact& turn : response.turns) spans.push_back({begin + turn.begin, begin + turn.end});
  return spans;
}

std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence) {
  const std::vector<TokenSpan> spans = model_spans(experience, sequence);
  std::vector<std::vector<TokenSpan>> contexts(1);
  for (size_t k = 0; k < spans.size(); ++k) {
    if (k > 0 && experience.responses[sequence].turns[k].is_fresh) contexts.emplace_back();
    contexts.back().push_back(spans[k]);
  }
  return contexts;
}

at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor) {
  const at::Tensor sums = at::zeros({experience.num_sequences()}, at::kDouble);
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    sums[b] = response_part(experience, tensor, b).to(at::kDouble).sum();
  return sums;
}

}  // namespace roll
