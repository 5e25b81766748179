// Writes samples/step_NNNNNN.jsonl (key dump_samples): a few responses of a step, token by token, for users. All ranks
// choose the same responses, without communication; the rank that trains on a response writes it. If several
// data-parallel ranks train, each writes its own file, such as step_NNNNNN-00001-of-00002.jsonl.
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

/// Samples of one step on one rank; make one on each learner after the step's advantages are computed.
class TokenSamples {
 public:
  /// Selects at most `count` informative responses of the step (records/informative_groups.h), and keeps those that
  /// this rank writes; none if it is not the first rank of a copy of the policy. actor: the policy's mesh in the
  /// communicator whose ranks step.home names. `step` must outlive this object.
  TokenSamples(const RlStep& step, int64_t count, RoleMesh& actor);

  /// Keeps the selected responses' part of `log_probs`, which training computed for a micro-batch: [T] over its T
  /// tokens, nats. Only the first call for a response counts, so that the log-probs are those of its first update.
  void take(const Experience& micro_batch, const at::Tensor& log_probs);

  /// Writes a line per response to <folder>/step_NNNNNN.jsonl: {"step", "group_index", "sample_index", "domain",
  /// "score", "reward", "tokens"}, and lists with a number per response token: sampler_log_probs, old_log_probs,
  /// ref_log_probs, values, token_rewards, advantages if computed, and log_probs that take() kept. Writes no file if
  /// this rank has none of the responses. Throws SystemError if the file cannot be written.
  void write(const std::filesystem::path& folder, const Tokenizer& tokenizer) const;

 private:
  const RlStep& step_;
  Share share_;
  std::map<int64_t, int64_t> local_index_;   // index in the step -> index among this rank's sequences
  std::map<int64_t, at::Tensor> log_probs_;  // by index in the step; on the training device
};

/// Returns a tensor's elements as a flat JSON list of float32 numbers.
Json number_list(const at::Tensor& tensor);

/// Returns the text that each token adds to the decoded text. If several tokens form one character, the last one gets
/// it.
std::vector<std::string> token_texts(const std::vector<int64_t>& ids, const Tokenizer& tokenizer);

}  // namespace roll
