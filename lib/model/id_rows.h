// Reads token ids from JSON lines, checks them against the vocabulary, and writes their log-probs, for `roll logprobs`.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/keys.h"
#include "model/transformer.h"

namespace roll {

/// Returns the "ids" of one JSON row. Throws UserError "where: ids[3] = 700: ..." unless they are a non-empty list of
/// whole numbers from 0 to vocab_size - 1. `where`: file and line of the row.
std::vector<int64_t> parse_ids(const Json& row, const std::string& where, int64_t vocab_size);

/// Options of `roll logprobs`.
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

/// Reads rows {"ids": [n ids]} and writes rows {"log_probs": [n - 1 numbers]}, with "entropy" if job.with_entropy is
/// set, in the same order and batch by batch. Number i is the log-prob (nats) of ids[i + 1] after ids[0..i]. Throws
/// UserError, which names `origin` (the input's path) and line, if a row is invalid or longer than the model allows.
void write_log_probs(const Transformer& model, std::istream& in, const std::string& origin, std::ostream& out,
                     const LogProbsJob& job);

}  // namespace roll
