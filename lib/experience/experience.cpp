#include "experience/experience.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "device/transfers.h"

namespace roll {

namespace {

/// response_mask [T] float32 of prompts and responses in their packed order, whether judged or not.
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

/// Takes an environment's tokens out of a response's part of the mask.
void keep_turns(const at::Tensor& mask, const Turns& turns) {
  if (turns.empty()) return;
  mask.zero_();
  for (const TurnFact& turn : turns) mask.slice(0, turn.begin, turn.end).fill_(1);
}

}  // namespace

const std::array<at::Tensor Experience::*, 10> Experience::kTokenTensors{
    &Experience::sampler_log_probs, &Experience::old_log_probs, &Experience::energies, &Experience::is_weights,
    &Experience::ref_log_probs,     &Experience::teacher_kl,    &Experience::values,   &Experience::token_rewards,
    &Experience::advantages,        &Experience::returns};

std::map<std::string, std::vector<int64_t>> sequences_by_domain(const ResponseFacts& responses) {
  std::map<std::string, std::vector<int64_t>> sequences;
  for (int64_t b = 0; b < std::ssize(responses.domains); ++b) sequences[responses.domains[b]].push_back(b);
  return sequences;
}

ResponseFacts select(const ResponseFacts& facts, const std::vector<int64_t>& indices) {
  return {.prompt_lengths = picked(facts.prompt_lengths, indices),
          .response_lengths = picked(facts.response_lengths, indices),
          .scores = picked(facts.scores, indices),
          .rewards = picked(facts.rewards, indices),
          .domains = picked(facts.domains, indices),
          .judged = picked(facts.judged, indices),
          .truncated = picked(facts.truncated, indices),
          .difficulties = picked(facts.difficulties, indices),
          .parts = facts.parts.empty() ? facts.parts : picked(facts.parts, indices),
          .turns = facts.turns.empty() ? facts.turns : picked(facts.turns, indices),
          .baselines = facts.baselines.empty() ? facts.baselines : picked(facts.baselines, indices)};
}

StepFacts select(const StepFacts& facts, const std::vector<int64_t>& indices) {
  return {{select(static_cast<const ResponseFacts&>(facts), indices)}, picked(facts.group_index, indices)};
}

std::vector<int64_t> StepFacts::lengths() const {
  std::vector<int64_t> lengths;
  for (size_t b = 0; b < prompt_lengths.size(); ++b) lengths.push_back(prompt_lengths[b] + response_lengths[b]);
  return lengths;
}

int64_t StepFacts::num_tokens() const {
  const std::vector<int64_t> all = lengths();
  return std::accumulate(all.begin(), all.end(), int64_t{0});
}

SequenceSizes StepFacts::sizes() const {
  SequenceSizes sizes{lengths(), group_index, prompt_lengths};
  for (int64_t b = 0; b < std::ssize(turns); ++b)
    sizes.contexts.push_back(context_lengths(prompt_lengths[b], response_lengths[b], turns[b]));
  if (std::ranges::all_of(sizes.contexts, [](const auto& contexts) { return contexts.size() == 1; }))
    sizes.contexts.clear();
  return sizes;
}

StepFacts facts_of(const Experience& step) {
  return {{static_cast<const ResponseFacts&>(step)}, step.group_index};
}

Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids) {
  Experience experience;
  static_cast<ResponseFacts&>(experience) = select(static_cast<const ResponseFacts&>(step), sequences);
  experience.sequence_index = sequences;
  experience.group_index = picked(step.group_index, sequences);
  std::vector<at::Tensor> positions = {at::empty({0}, at::kLong)};
  experience.tokens.cu_seqlens = experience.tokens.cu_contexts = {0};
  for (size_t b = 0; b < sequences.size(); ++b) {
    const Turns& turns = experience.turns.empty() ? Turns() : experience.turns[b];
    for (const int64_t length : context_lengths(experience.prompt_lengths[b], experience.response_lengths[b], turns)) {
      experience.tokens.cu_contexts.push_back(experience.tokens.cu_contexts.back() + length);
      positions.push_back(at::arange(length, at::kLong));
    }
    experience.tokens.cu_seqlens.push_back(experience.tokens.cu_contexts.back());
  }
  if (experience.tokens.cu_contexts == experience.tokens.cu_seqlens) experience.tokens.cu_contexts.clear();
  ROLL_CHECK_EQ(ids.numel(), experience.tokens.cu_seqlens.back(), "every token of the sequences is there");
  experience.tokens.ids = std::move(ids);
  experience.tokens.positions = at::cat(positions);
  experience.masks["response_mask"] = make_response_mask(experience.prompt_lengths, experience.response_lengths);
  for (int64_t b = 0; b < experience.num_sequences(); ++b) {
    const at::Tensor mask = response_part(experience, experience.masks["response_mask"], b);
    if (!experience.turns.empty()) keep_turns(mask, experience.turns[b]);
    if (!experience.judged[b]) mask.zero_();
  }
  return experience;
}

Experience make_experience(const std::vector<Sample>& samples) {
  StepFacts step;
  std::vector<int64_t> ids, numbers;
  bool has_turns = false;
  for (const Sample& sample : samples) {
    ROLL_CHECK(!sample.prompt_ids.empty(), "the first response token is predicted from a prompt");
    ids.insert(ids.end(), sample.prompt_ids.begin(), sample.prompt_ids.end());
    ids.insert(ids.end(), sample.response_ids.begin(), sample.response_ids.end());
    numbers.push_back(std::ssize(numbers));
    step.group_index.push_back(sample.group_index);
    step.prompt_lengths.push_back(static_cast<int64_t>(sample.prompt_ids.size()));
    step.response_lengths.push_back(static_cast<int64_t>(sample.response_ids.size()));
    step.scores.push_back(sample.score);
    step.rewards.push_back(sample.reward.value_or(sample.score));
    step.judged.push_back(sample.is_judged);
    if (sample.baseline) step.baselines.push_back(*sample.baseline);
    if (!sample.parts.empty()) step.parts.push_back(sample.parts);
    has_turns |= !sample.turns.empty();
    step.turns.push_back(sample.turns);
    step.domains.push_back(sample.domain);
    step.truncated.push_back(sample.truncated);
    step.difficulties.push_back(sample.difficulty);
  }
  if (!has_turns) step.turns.clear();
  ROLL_CHECK(step.baselines.empty() || step.baselines.size() == samples.size(),
             "either all samples have a baseline, or none");
  Experience experience = make_experience(step, numbers, at::tensor(ids, at::kLong));
  for (size_t b = 0; b < samples.size(); ++b) experience.sequence_index[b] = samples[b].sequence_index;
  experience.sampler_log_probs = at::zeros_like(experience.response_mask());
  for (size_t b = 0; b < samples.size(); ++b) {
    if (samples[b].log_probs.empty()) continue;
    ROLL_CHECK_EQ(samples[b].log_probs.size(), samples[b].response_ids.size(), "a log-prob for every response token");
    response_part(experience, experience.sampler_log_probs, static_cast<int64_t>(b))
        .copy_(at::tensor(samples[b].log_probs, at::kFloat));
  }
  return experience;
}

Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices) {
  Experience part;
  static_cast<Batch&>(part) = select(static_cast<const Batch&>(experience), sequence_indices);
  static_cast<ResponseFacts&>(part) = select(static_cast<const ResponseFacts&>(experience), sequence_indices);
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
  if (needs_signs) add(are_positive(micro_batch.on_contexts(micro_batch.scores)));
}

Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel) {
  if (device.is_meta() || device.is_cpu()) return experience;
  experience.on_host = std::make_shared<const Experience>(experience);
  add_layout(experience, parallel);
  std::vector<at::Tensor*> tensors = tensors_of(experience);
  for (const auto tensor : Experience::kTokenTensors)
    if ((experience.*tensor).defined()) tensors.push_back(&(experience.*tensor));
  send_together(tensors, device);
  return experience;
}

at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence) {
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + experience.prompt_lengths[sequence] - 1;
  return tensor.slice(0, begin, begin + experience.response_lengths[sequence]);
}

std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence) {
  const int64_t begin = experience.tokens.cu_seqlens[sequence] + experience.prompt_lengths[sequence] - 1;
  if (experience.turns.empty() || experience.turns[sequence].empty())
    return {{begin, begin + experience.response_lengths[sequence]}};
  std::vector<TokenSpan> spans;
  for (const TurnFact& turn : experience.turns[sequence]) spans.push_back({begin + turn.begin, begin + turn.end});
  return spans;
}

std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence) {
  const std::vector<TokenSpan> spans = model_spans(experience, sequence);
  std::vector<std::vector<TokenSpan>> contexts(1);
  for (size_t k = 0; k < spans.size(); ++k) {
    if (k > 0 && experience.turns[sequence][k].is_fresh) contexts.emplace_back();
    contexts.back().push_back(spans[k]);
  }
  return contexts;
}

int64_t num_model_tokens(const ResponseFacts& facts, int64_t response) {
  if (facts.turns.empty() || facts.turns[response].empty()) return facts.response_lengths[response];
  int64_t count = 0;
  for (const TurnFact& turn : facts.turns[response]) count += turn.end - turn.begin;
  return count;
}

at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor) {
  const at::Tensor sums = at::zeros({experience.num_sequences()}, at::kDouble);
  for (int64_t b = 0; b < experience.num_sequences(); ++b)
    sums[b] = response_part(experience, tensor, b).to(at::kDouble).sum();
  return sums;
}

}  // namespace roll
