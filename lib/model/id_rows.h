// `roll logprobs`: reads token ids from JSON lines, checks them against the vocabulary, writes their log-probs.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/keys.h"
#include "model/transformer.h"

namespace roll {

/// Returns the "ids" of one row. UserError "where: ids[3] = 700: ...": not a non-empty list of whole numbers in [0,
/// vocab_size).
std::vector<int64_t> parse_ids(const Json& row, const std::string& where, int64_t vocab_size);

struct LogProbsJob {
  double temperature = 1.0;
  bool with_entropy = false;
  int64_t max_tokens_per_batch = 16384;  // rows share a forward pass up to this size; a longer row has its own

  void fields(Keys& v) {
    v("temperature", temperature, "the logits are divided by it; 1: the model's own probabilities",
      within(0.001, 1000));
    v("entropy", with_entropy, "also write the entropy (nats) of each prediction");
    v("max_tokens_per_batch", max_tokens_per_batch, "rows share a forward pass up to this size, in tokens",
      token_range());
  }
};

/// Reads rows {"ids": [...]}, writes rows {"log_probs": [ids - 1 numbers]} (and "entropy"), in order, batch by batch.
/// Log-prob i is that of ids[i + 1]. UserError names origin and line: a row is invalid or too long.
void write_log_probs(const Transformer& model, std::istream& in, const std::string& origin, std::ostream& out,
                     const LogProbsJob& job);

}  // namespace roll
