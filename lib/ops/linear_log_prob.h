// The lm head, the log-prob of the labels and the entropy as one operation in chunks of rows, forward and backward:
// full logits (tokens x vocabulary, several copies of them) never exist. Backward computes each chunk's logits again,
// but where all rows are one chunk, which is kept. Legend: T tokens, E hidden size, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace roll {

/// A rank's rows of a head whose vocabulary is cut over ranks.
struct VocabularyShard {
  int64_t begin = 0;  // id of the first row
  /// Same-shaped tensors of all ranks, stacked in rank order. **Collective**; empty: this process has all rows.
  std::function<at::Tensor(const at::Tensor& mine)> gather{};
};

struct LogProbs {
  at::Tensor log_probs;     // [T], nats
  at::Tensor entropy;       // [T], nats; undefined when not asked for
  at::Tensor energy{};      // [T], |d log_prob / d (logits / temperature)|^2; undefined when not asked for
  at::Tensor of_choices{};  // [T, k], the logits of LogProbOptions::choices
};

struct LogProbOptions {
  double temperature = 1.0;  // logits are divided by it, > 0
  double cap = 0;            // before, they are cap * tanh(logit / cap); 0: they stay as they are
  bool with_entropy = false;
  bool with_energy = false;                 // without autograd
  int64_t chunk_bytes = int64_t{64} << 20;  // the most that a chunk of logits may take; at least one row
  VocabularyShard shard{};
  at::Tensor rows{};     // [N] int64, with the labels: where these are not -1; undefined: they are looked for
  at::Tensor choices{};  // [T, k] int64 in [0, V), no two of a row alike: ids whose logits (capped, not divided) are
                         // wanted as well, with gradient; undefined: none
};

/// hidden weight^T: [N, E] x [V, E] -> [N, V] float32 (float64 for float64): the logits that linear_log_prob sees.
/// Half-precision inputs are accumulated and kept in float32.
at::Tensor wide_logits(const at::Tensor& hidden, const at::Tensor& weight);

/// cap * tanh(logits / cap), in their place; a cap of 0 changes nothing.
void cap_logits(const at::Tensor& logits, double cap);

/// Of each row the ids of the largest logits, and these.
struct TopLogits {
  at::Tensor logits;  // [N, k], descending
  at::Tensor ids;     // [N, k] int64
};
/// The `k` largest of the first `vocabulary` logits (k <= vocabulary), capped as in linear_log_prob, of `hidden` [N,
/// E], without gradient. With a shard `weight` is the rank's rows, and all ranks get the same. **Collective** then.
TopLogits top_logits(const at::Tensor& hidden, const at::Tensor& weight, int64_t k, int64_t vocabulary,
                     const LogProbOptions& options);

/// log softmax(hidden weight^T / temperature) at labels. hidden [T, E], weight [V, E], labels [T] int64 in [-1, V).
/// With a shard, `weight` is the rank's rows, labels stay those of the whole vocabulary, results are the same on all
/// ranks, and the gradient of hidden is the rank's share of a sum over ranks; logits are never gathered.
/// Rows with label -1 are not computed: 0, without gradient. Results are float32 (float64 for float64 input).
LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options);

}  // namespace roll
