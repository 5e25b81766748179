// Facts of a response besides its tokens: lengths, score, reward, turns. Every rank has the facts of all responses of a
// step, and computes the assignment of sequences to ranks and group statistics from them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experience/turns.h"
#include "packing/shared_prompts.h"
#include "reward/parts.h"

namespace roll {

/// A response is the answer to a prompt, or a trajectory of turns in an environment.
struct ResponseFacts {
  int64_t group = 0;                 // index of the prompt in the step
  int64_t sample = 0;                // index of the response in its group
  int64_t prompt_length = 1;         // tokens, at least 1
  int64_t response_length = 0;       // tokens, including an environment's tokens between turns
  double score = 0;                  // verdict, usually 0 to 1; read by masks, metrics and losses that ask for its sign
  double reward = 0;                 // score after penalties; advantages are computed from it
  double difficulty = 0;             // column of the prompt's row; weighs the loss with difficulty_loss_weight
  std::string domain{};              // prompt's domain; "" gets no separate metrics
  bool is_judged = true;             // false: no reward could be obtained; the response carries no loss
  bool is_truncated = false;         // ended at the length limit
  bool is_baseline = false;          // greedy response, not trained on; gives the others' `baseline`
  std::optional<double> baseline{};  // reward of the prompt's greedy response; unset if none was sampled
  std::vector<RewardPart> parts{};   // summands of the reward, if the estimator needs them; else empty
  Turns turns{};                     // turns in an environment; empty for other responses

  int64_t length() const { return prompt_length + response_length; }
  /// Returns the number of sampled tokens.
  int64_t num_model_tokens() const;

  /// Serialises the facts as a message between ranks.
  template <class F>
  void fields(F& field) {
    field("group", group), field("sample", sample);
    field("prompt_length", prompt_length), field("response_length", response_length);
    field("score", score), field("reward", reward), field("difficulty", difficulty), field("domain", domain);
    field("is_judged", is_judged), field("is_truncated", is_truncated), field("is_baseline", is_baseline);
    field("baseline", baseline), field("parts", parts), field("turns", turns);
  }
  bool operator==(const ResponseFacts&) const = default;
};

/// Returns one field of each response: column(responses, &ResponseFacts::score).
template <class T>
std::vector<T> column(const std::vector<ResponseFacts>& responses, T ResponseFacts::*field) {
  std::vector<T> values;
  for (const ResponseFacts& response : responses) values.push_back(response.*field);
  return values;
}

/// Returns the indices of each domain's responses, ascending.
std::map<std::string, std::vector<int64_t>> sequences_by_domain(const std::vector<ResponseFacts>& responses);

/// Facts of all B responses of a step, equal on every rank, ordered by group. A response's index here is its sequence's
/// index in the step.
struct StepFacts {
  std::vector<ResponseFacts> responses;

  int64_t num_sequences() const { return static_cast<int64_t>(responses.size()); }
  /// Returns [B] lengths of prompt plus response, in tokens.
  std::vector<int64_t> lengths() const;
  /// Returns the sum of lengths().
  int64_t num_tokens() const;
  /// Returns the sizes by which sequences are packed and assigned to ranks; a group's responses share one prompt.
  SequenceSizes sizes() const;
};

}  // namespace roll
