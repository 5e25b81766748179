// Computes log-probs of given tokens and of the likeliest tokens at the same positions, by a forward pass. For
// RequestQueue, because the sampler keeps log-probs neither for prompts (the request's `echo`) nor for tokens that were
// not sampled (`top_logprobs`).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace roll {

class Transformer;

/// Score of one token, given all tokens before it.
struct TokenScore {
  float log_prob = 0;                                  // nats: log_softmax(logits / temperature)
  std::vector<std::pair<int64_t, float>> likeliest{};  // likeliest tokens: id and log-prob, likeliest first
};

/// Returns the scores of the tokens from ids[first] to the end, in order; empty if `first` is at or beyond the end.
/// `first`: at least 1, because no token precedes ids[0]. `num_likeliest`: length of each list `likeliest`, or the
/// size of the vocabulary if that is smaller. `temperature` 0 counts as 1.
std::vector<TokenScore> score_tokens(const Transformer& model, const std::vector<int64_t>& ids, int64_t first,
                                     int64_t num_likeliest, double temperature);

}  // namespace roll
