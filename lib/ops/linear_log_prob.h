// Lm head, log-probs of labels, and entropy as one differentiable operation over chunks of rows, for model/log_probs.h.
// The logits of all tokens never exist together: backward recomputes each chunk's logits, unless all rows fit in one
// chunk, whose logits are kept. A row is a token's hidden state.
// Legend: T rows, N rows with a label, E hidden size, V vocabulary (with a shard: this rank's ids).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace roll {

/// Sharding of the lm head's rows, one per token id, over ranks.
struct VocabularyShard {
  int64_t begin = 0;  // token id of this rank's first row
  /// Returns the ranks' tensors, which have one shape, stacked in rank order. **Collective** over the ranks. Null: this
  /// process has all rows.
  std::function<at::Tensor(const at::Tensor& local)> gather{};
};

/// Results, 0 for rows without a label; those that the options do not request are undefined.
struct LogProbs {
  at::Tensor log_probs;        // [T], nats
  at::Tensor entropy;          // [T], nats: of the distribution softmax(logits / temperature)
  at::Tensor energy{};         // [T]: squared norm of the gradient d log_prob / d (logits / temperature)
  at::Tensor choice_logits{};  // [T, k]: logits of LogProbOptions::choices
};

struct LogProbOptions {
  double temperature = 1.0;  // logits are divided by it; throws Bug unless it is above 0
  double cap = 0;            // soft cap before the temperature: logits become cap * tanh(logit / cap); 0: no cap
  bool with_entropy = false;
  bool with_energy = false;                 // throws Bug with autograd on, or with choices
  int64_t chunk_bytes = int64_t{64} << 20;  // size limit of a chunk's logits; a chunk has at least one row
  VocabularyShard shard{};
  at::Tensor rows{};  // [N] int64: indices of rows whose label is not -1; undefined: found from the labels
  // [T, k] int64: in each row k distinct ids whose logits (capped, not divided by the temperature) are returned, too,
  // differentiably; undefined: not requested. Ids are those of the whole vocabulary.
  at::Tensor choices{};
};

/// Returns logits hidden weight^T, [N, V], as linear_log_prob() computes them: hidden [N, E], weight [V, E]. They are
/// float32 even for 16-bit inputs (float64 for float64), before a cap.
at::Tensor wide_logits(const at::Tensor& hidden, const at::Tensor& weight);

/// Replaces logits by cap * tanh(logits / cap), in place; a cap of 0 changes nothing.
void cap_logits(const at::Tensor& logits, double cap);

/// The largest logits of each row, and their token ids.
struct TopLogits {
  at::Tensor logits;  // [N, k], descending
  at::Tensor ids;     // [N, k] int64
};
/// Returns for each row of hidden [N, E] the k largest logits among the ids below `vocabulary` (k <= vocabulary), after
/// options.cap; of the options it uses only cap, chunk_bytes and shard. No gradient. With a shard, `weight` holds this
/// rank's rows, all ranks get the same result, and the call is **collective** over the shard's ranks.
TopLogits top_logits(const at::Tensor& hidden, const at::Tensor& weight, int64_t k, int64_t vocabulary,
                     const LogProbOptions& options);

/// Returns log softmax(hidden weight^T / temperature) at the labels, and what the options request: hidden [T, E],
/// weight [V, E], labels [T] int64; rows with label -1 are skipped, with the result 0 and no gradient. Results are
/// float32 (float64 for float64). With a shard, `weight` holds this rank's rows, labels are ids of the whole
/// vocabulary, all ranks get the same results, the call is **collective** over the shard's ranks, and the gradient of
/// `hidden` is this rank's part of a sum over ranks.
LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options);

}  // namespace roll
