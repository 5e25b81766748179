// Log-probs of given tokens and of the likeliest alternatives, by a forward pass, for RequestQueue. The sampler does
// not keep them for prompts (`echo`) or for tokens that were not sampled (`top_logprobs`).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace roll {

class Transformer;

struct TokenScore {
  float log_prob = 0;                                  // nats: log softmax(logits / temperature)
  std::vector<std::pair<int64_t, float>> likeliest{};  // ids and their log-probs, descending
};

/// Returns the scores of ids[first] and all later ones; first >= 1. `temperature`: 0 counts as 1.
std::vector<TokenScore> score_tokens(const Transformer& model, const std::vector<int64_t>& ids, int64_t first,
                                     int64_t num_likeliest, double temperature);

}  // namespace roll
