// What a step of reinforcement learning learns from: prompts and responses on one packed token axis, with what was
// computed of them.
// Legend: B sequences, T packed tokens. Every [T] tensor but the ids is in the program's alignment: index t is about
// token t + 1 of the same context, and each context's last index is masked out.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experience/batch.h"
#include "experience/turns.h"
#include "packing/shared_prompts.h"
#include "reward/parts.h"

namespace roll {

/// Facts of responses beside their tokens. [B] each.
struct ResponseFacts {
  std::vector<int64_t> prompt_lengths;           // tokens, >= 1
  std::vector<int64_t> response_lengths;         // tokens, >= 0
  std::vector<double> scores;                    // verdicts: masks, group statistics and the sign of TOPR read them
  std::vector<double> rewards;                   // scores after penalties: advantages come from them
  std::vector<std::string> domains;              // of the prompt; "" has no metrics of its own
  std::vector<char> judged;                      // 0: no reward could be had; such a response teaches nothing
  std::vector<char> truncated;                   // 1: finish reason "length"
  std::vector<double> difficulties;              // of the prompt's row
  std::vector<std::vector<RewardPart>> parts{};  // of the rewards, where an estimator wants them; else empty
  std::vector<Turns> turns{};                    // of responses in environments; empty: there are none such
  std::vector<double> baselines;  // rewards of greedy responses to the same prompts; empty: none were sampled
};
/// The facts of these responses, in this order.
ResponseFacts select(const ResponseFacts& facts, const std::vector<int64_t>& indices);
/// The responses of each domain.
std::map<std::string, std::vector<int64_t>> sequences_by_domain(const ResponseFacts& responses);

/// Facts of all responses of a step, on every rank; their tokens are spread over the ranks.
struct StepFacts : ResponseFacts {
  std::vector<int64_t> group_index;  // [B] number of the prompt in the step

  int64_t num_sequences() const { return static_cast<int64_t>(group_index.size()); }
  /// [B] tokens, prompt and response.
  std::vector<int64_t> lengths() const;
  int64_t num_tokens() const;
  /// As plans see them: a group's responses have one prompt.
  SequenceSizes sizes() const;
};
StepFacts select(const StepFacts& facts, const std::vector<int64_t>& indices);

struct Experience : Batch, ResponseFacts {
  std::vector<float> sample_weights;  // [B] of a mini-batch (loss/sample_weights.h); empty: 1

  // [T] float32; undefined where the configuration does not need them
  at::Tensor sampler_log_probs;  // nats, of the sampler; 0 outside responses
  at::Tensor old_log_probs;      // nats, of the trainer
  at::Tensor energies;           // squared norms of the gradient of old_log_probs by the logits
  at::Tensor is_weights;         // on the policy loss; see correction.h
  at::Tensor ref_log_probs;      // nats
  at::Tensor teacher_kl;         // nats: estimates of KL(policy, teacher), weighted and summed over teachers
  at::Tensor values;             // the critic at t; the last index of a sequence holds the value after its last token
  at::Tensor token_rewards;
  at::Tensor advantages;
  at::Tensor returns;

  /// The mask "response_mask": 1 where token t + 1 is a response token of a judged response, drawn by the model.
  const at::Tensor& response_mask() const { return mask("response_mask"); }
  /// The mask "final_response_mask": response_mask() without what a sample mask or a filter takes out.
  const at::Tensor& final_response_mask() const { return mask("final_response_mask"); }

  /// The mask "positive_response_mask": final_response_mask() of responses with a score above 0.
  const at::Tensor& positive_response_mask() const { return mask("positive_response_mask"); }

  /// This, where it is on the host; else what it was there.
  const Experience& host() const { return on_host ? static_cast<const Experience&>(*on_host) : *this; }

  /// All [T] tensors but the tokens' own and the masks.
  static const std::array<at::Tensor Experience::*, 10> kTokenTensors;
};

/// One prompt and its response.
struct Sample {
  std::vector<int64_t> prompt_ids;    // at least one
  std::vector<int64_t> response_ids;  // may be empty
  int64_t sequence_index = 0;
  int64_t group_index = 0;
  double score = 0;
  bool truncated = false;
  double difficulty = 0;
  std::vector<float> log_probs{};    // the sampler's, one per response token; empty: unknown
  std::optional<double> reward{};    // the score after penalties; none: there were none
  bool is_judged = true;             // false: no reward could be had
  std::optional<double> baseline{};  // the reward of a greedy response to the same prompt
  std::string domain{};
  std::vector<RewardPart> parts{};
  Turns turns{};
};

/// The facts of a step of which this rank has every response.
StepFacts facts_of(const Experience& step);

/// The experience of these sequences of a step, packed in this order with `ids` [T] int64: tokens, facts and response
/// mask; all other tensors stay undefined.
Experience make_experience(const StepFacts& step, const std::vector<int64_t>& sequences, at::Tensor ids);

/// Packs samples in the given order and sets the response mask; all other tensors stay undefined.
Experience make_experience(const std::vector<Sample>& samples);

/// As select() and to_device() of a Batch, with all tensors; undefined ones stay so.
Experience select(const Experience& experience, const std::vector<int64_t>& sequence_indices);
Experience to_device(Experience experience, at::Device device, const ModelParallel& parallel);

/// What a loss spreads over the tokens of each sequence, to go to a device with the rest: sample weights, and the signs
/// of scores where it `needs_signs`.
void add_factors(Experience& micro_batch, bool needs_signs);

/// The response part of a [T] tensor of sequence b: [response_length].
at::Tensor response_part(const Experience& experience, const at::Tensor& tensor, int64_t sequence);

/// Tokens [begin, end) of the token axis.
struct TokenSpan {
  int64_t begin = 0, end = 0;
};
/// What the model drew of sequence b, in the program's alignment: a span for each turn, or the whole response.
std::vector<TokenSpan> model_spans(const Experience& experience, int64_t sequence);
/// Those of sequence b, context after context.
std::vector<std::vector<TokenSpan>> context_spans(const Experience& experience, int64_t sequence);
/// Tokens of response b that the model drew.
int64_t num_model_tokens(const ResponseFacts& facts, int64_t response);

/// The sum of a [T] tensor over each response: [B] float64.
at::Tensor response_sums(const Experience& experience, const at::Tensor& tensor);

}  // namespace roll
