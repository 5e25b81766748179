// LM head, log-probs of the labels and entropy as one operation in chunks of rows, forward and backward, for
// model/log_probs.h. Full logits (tokens x vocabulary) never exist. Backward recomputes each chunk's logits, unless all
// rows fit one chunk, which is kept. Legend: T tokens, N rows with a label, E hidden size, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace roll {

/// A rank's rows of an LM head whose vocabulary is sharded over ranks.
struct VocabularyShard {
  int64_t begin = 0;  // id of the first row
  /// Gathers same-shaped tensors of all ranks, stacked in rank order. **Collective**; empty: this process has all rows.
  std::function<at::Tensor(const at::Tensor& local)> gather{};
};

struct LogProbs {
  at::Tensor log_probs;        // [T], nats
  at::Tensor entropy;          // [T], nats; undefined when not asked for
  at::Tensor energy{};         // [T], |d log_prob / d (logits / temperature)|^2; undefined when not asked for
  at::Tensor choice_logits{};  // [T, k], logits of LogProbOptions::choices
};

struct LogProbOptions {
  double temperature = 1.0;  // logits are divided by it, > 0
  double cap = 0;            // soft cap before the temperature: cap * tanh(logit / cap); 0: none
  bool with_entropy = false;
  bool with_energy = false;                 // needs autograd off, and no choices (else Bug)
  int64_t chunk_bytes = int64_t{64} << 20;  // most bytes of a chunk's logits; a chunk has at least one row
  VocabularyShard shard{};
  at::Tensor rows{};     // [N] int64: rows whose label is not -1; undefined: found from the labels
  at::Tensor choices{};  // [T, k] int64 in [0, V), distinct in a row: ids whose logits (capped, not divided) are
                         // returned too, with gradient; undefined: none
};

/// Returns the logits hidden weight^T that linear_log_prob uses: [N, E] x [V, E] -> [N, V] float32 (float64 for
/// float64). Half-precision inputs are accumulated and kept in float32.
at::Tensor wide_logits(const at::Tensor& hidden, const at::Tensor& weight);

/// Replaces logits by cap * tanh(logits / cap) in place; a cap of 0 changes nothing.
void cap_logits(const at::Tensor& logits, double cap);

/// The largest logits of each row, and their token ids.
struct TopLogits {
  at::Tensor logits;  // [N, k], descending
  at::Tensor ids;     // [N, k] int64
};
/// Returns the `k` largest of the first `vocabulary` logits (k <= vocabulary) of `hidden` [N, E], capped like
/// linear_log_prob's, without gradient. With a shard, `weight` holds the rank's rows, all ranks get the same result,
/// and the call is **Collective**.
TopLogits top_logits(const at::Tensor& hidden, const at::Tensor& weight, int64_t k, int64_t vocabulary,
                     const LogProbOptions& options);

/// Returns log softmax(hidden weight^T / temperature) at the labels: hidden [T, E], weight [V, E], labels [T] int64 in
/// [-1, V). Rows with label -1 are skipped and give 0, without gradient. Results are float32 (float64 for float64).
/// With a shard the call is **Collective**: `weight` holds the rank's rows, labels are ids in the whole vocabulary, and
/// all ranks get the same results. The gradient of hidden is then this rank's part of a sum over ranks.
LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options);

}  // namespace roll
