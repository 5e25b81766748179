// samples/step_NNNNNN.jsonl: a few responses of a step, token by token, for people who look into it. All ranks know
// from facts which ones; the rank that trains on one writes it, in a part of the file where several share out a step.
// So nothing is sent and nobody is asked, in any layout and placement.
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
  /// Of at most `count` responses of the step, those that this rank speaks for. `actor`: as the step's home names it.
  TokenSamples(const RlStep& step, int64_t count, RoleMesh& actor);

  /// Of a micro-batch in training: `log_probs` [T], nats. A response keeps those of the first update that trains on it.
  void take(const Experience& micro_batch, const at::Tensor& log_probs);

  /// A line each: {"step", "group_index", "sample_index", "domain", "score", "reward", "tokens": texts, ...} and lists
  /// with a number for each token: sampler_log_probs, old_log_probs, ref_log_probs, values, token_rewards, advantages,
  /// where the configuration computes them, and log_probs, those that take() kept. Nothing where there are none.
  /// SystemError.
  void write(const std::filesystem::path& folder, const Tokenizer& tokenizer) const;

 private:
  const RlStep& step_;
  Share share_;
  std::map<int64_t, int64_t> places_;        // sequence of the step -> where it is among those at home
  std::map<int64_t, at::Tensor> log_probs_;  // by sequence, on the device of training
};

/// A tensor's numbers, as float32.
Json number_list(const at::Tensor& tensor);

/// The text that each token adds: what makes no whole character yet comes with the token that completes it.
std::vector<std::string> token_texts(const std::vector<int64_t>& ids, const Tokenizer& tokenizer);

}  // namespace roll
