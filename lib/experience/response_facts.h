// What is known of a response beside its tokens: every rank has these facts of all responses of a step, from which all
// plans and group statistics follow.
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

struct ResponseFacts {
  int64_t group = 0;                               // number of the prompt in the step
  int64_t sample = 0;                              // of the response in its group
  int64_t prompt_length = 1, response_length = 0;  // tokens
  double score = 0;                                // verdict: masks, group statistics and the sign of TOPR read it
  double reward = 0;                               // the score after penalties: advantages come from it
  double difficulty = 0;                           // of the prompt's row
  std::string domain{};                            // of the prompt; "" has no metrics of its own
  bool is_judged = true;                           // false: no reward could be had; such a response teaches nothing
  bool is_truncated = false;                       // finish reason "length"
  bool is_baseline = false;                        // greedy: only its reward is used, as `baseline` of the others
  std::optional<double> baseline{};                // reward of the greedy response to the same prompt; none was sampled
  std::vector<RewardPart> parts{};                 // of the reward, where an estimator wants them
  Turns turns{};                                   // of a response in an environment

  int64_t length() const { return prompt_length + response_length; }
  /// Tokens of the response that the model drew.
  int64_t num_model_tokens() const;

  /// The form of a message between ranks.
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

/// One number or text of each response: column(responses, &ResponseFacts::score).
template <class T>
std::vector<T> column(const std::vector<ResponseFacts>& responses, T ResponseFacts::*field) {
  std::vector<T> values;
  for (const ResponseFacts& response : responses) values.push_back(response.*field);
  return values;
}

/// The responses of each domain.
std::map<std::string, std::vector<int64_t>> sequences_by_domain(const std::vector<ResponseFacts>& responses);

/// Facts of all responses of a step, group after group, on every rank; their tokens are spread over the ranks.
struct StepFacts {
  std::vector<ResponseFacts> responses;

  int64_t num_sequences() const { return static_cast<int64_t>(responses.size()); }
  /// [B] tokens, prompt and response.
  std::vector<int64_t> lengths() const;
  int64_t num_tokens() const;
  /// As plans see them: a group's responses have one prompt.
  SequenceSizes sizes() const;
};

}  // namespace roll
