// Log-probs of tokens that are there, and of the likeliest in their place, by a forward of the model: what the sampler
// does not keep, of prompts (`echo`) and of tokens that were not drawn (`top_logprobs`).
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

/// Of ids[first] and those behind it; first >= 1. `temperature`: 0 counts as 1, as of greedy draws.
std::vector<TokenScore> score_tokens(const Transformer& model, const std::vector<int64_t>& ids, int64_t first,
                                     int64_t num_likeliest, double temperature);

}  // namespace roll
