// Writes samples/step_NNNNNN.jsonl: a few responses of a step, token by token, for users. All ranks know from facts
// which ones; the rank that trains on a response writes it (in a part file if several ranks train). Works in any layout
// without communication.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <map>
#include <vector>

#include "base/json.h"
#include "records/rollout_files.h"
#include "step/rl_step.h"
#include "text/tokenizer.h"

namespace roll {

class TokenSamples {
 public:
  /// Selects at most `count` responses of the step and keeps those that this rank writes. `actor`: as named by
  /// step.home.
  TokenSamples(const RlStep& step, int64_t count, RoleMesh& actor);

  /// Keeps `log_probs` [T] (nats) of a micro-batch in training; only a response's first update counts.
  void take(const Experience& micro_batch, const at::Tensor& log_probs);

  /// Writes a line per response: {"step", "group_index", "sample_index", "domain", "score", "reward", "tokens": texts,
  /// ...} and lists per token: sampler_log_probs, old_log_probs, ref_log_probs, values, token_rewards, advantages if
  /// computed, and log_probs kept by take(). Writes no file without responses. SystemError: the file cannot be written.
  void write(const std::filesystem::path& folder, const Tokenizer& tokenizer) const;

 private:
  const RlStep& step_;
  Share share_;
  std::map<int64_t, int64_t> local_index_;   // index in the step -> index among this rank's sequences
  std::map<int64_t, at::Tensor> log_probs_;  // by sequence, on the training device
};

/// Returns a tensor's elements as float32.
Json number_list(const at::Tensor& tensor);

/// Returns the text that each token adds; bytes of an incomplete character come with the token that completes it.
std::vector<std::string> token_texts(const std::vector<int64_t>& ids, const Tokenizer& tokenizer);

}  // namespace roll
