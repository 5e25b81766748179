// Computes the lm head, log-probs of labels, and entropy as one differentiable operation, for model/log_probs.h. It
// works on chunks of rows (a row is a token's hidden state), so the logits of all tokens never exist together. Backward
// recomputes each chunk's logits; if all rows fit in one chunk, its logits are kept instead.
// Legend: T rows, N rows with a label (in wide_logits() and top_logits(): any rows), E hidden size, V vocabulary (with
// a shard: this rank's ids), k ids of a row.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace roll {

/// This rank's shard of the lm head, whose rows (one per token id) are split over the tensor-parallel ranks.
struct VocabularyShard {
  int64_t begin = 0;  // token id of this rank's first row
  /// Returns the ranks' tensors `local`, all of one shape, along a new first dimension [ranks, ...] in rank order.
  /// Gradients need not flow through it. **Collective** over the ranks. Null: the head is not split.
  std::function<at::Tensor(const at::Tensor& local)> gather{};
};

/// Results, in float32, or float64 for float64 inputs. Rows without a label have 0. Tensors that the options do not
/// request are undefined.
struct LogProbs {
  at::Tensor log_probs;        // [T], nats: of the labels
  at::Tensor entropy;          // [T], nats: of the distribution softmax(logits / temperature)
  at::Tensor energy{};         // [T]: squared norm of the gradient d log_prob / d (logits / temperature)
  at::Tensor choice_logits{};  // [T, k]: logits of LogProbOptions::choices
};

/// Options of linear_log_prob(), which throws Bug if temperature or with_energy breaks its rule.
struct LogProbOptions {
  double temperature = 1.0;  // logits are divided by it; must be above 0
  double cap = 0;            // soft cap before the temperature: logits become cap * tanh(logit / cap); 0: no cap
  bool with_entropy = false;
  bool with_energy = false;                 // must be false with autograd on, or with choices
  int64_t chunk_bytes = int64_t{64} << 20;  // size limit of a chunk's logits; a chunk has at least one row
  VocabularyShard shard{};
  // [N] int64: indices of the rows whose label is not -1. Undefined: found from the labels, and the host waits for the
  // device.
  at::Tensor rows{};
  // [T, k] int64: k distinct token ids per row, of the whole vocabulary. LogProbs::choice_logits gets their logits,
  // capped but not divided by the temperature, with gradients. Undefined: not requested.
  at::Tensor choices{};
};

/// Returns the logits hidden weight^T, [N, V], as linear_log_prob() computes them before cap and temperature: hidden
/// [N, E], weight [V, E]. They are float32 even for 16-bit inputs, and float64 for float64.
at::Tensor wide_logits(const at::Tensor& hidden, const at::Tensor& weight);

/// Replaces logits by cap * tanh(logits / cap), in place; a cap of 0 changes nothing.
void cap_logits(const at::Tensor& logits, double cap);

/// The largest logits of each row, and their token ids.
struct TopLogits {
  at::Tensor logits;  // [N, k], descending
  at::Tensor ids;     // [N, k] int64
};
/// Returns for each row of hidden [N, E] the k largest logits among the ids below `vocabulary` (k <= vocabulary),
/// without gradient. It uses only cap, chunk_bytes and shard of the options. With a shard, `weight` holds this rank's
/// rows, all ranks get the same result, and the call is **collective** over the shard's ranks.
TopLogits top_logits(const at::Tensor& hidden, const at::Tensor& weight, int64_t k, int64_t vocabulary,
                     const LogProbOptions& options);

/// Returns log softmax(logits / temperature) at the labels, and the results that the options request: hidden [T, E],
/// weight [V, E], labels [T] int64. The logits are hidden weight^T, capped by options.cap. Rows with label -1 are
/// skipped: their results are 0, without gradient.
/// With a shard, `weight` holds this rank's rows, but labels are ids of the whole vocabulary. The call is then
/// **collective** over the shard's ranks, and all get the same results. The gradient of `hidden` is this rank's part,
/// which the caller must sum over the ranks.
LogProbs linear_log_prob(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& labels,
                         const LogProbOptions& options);

}  // namespace roll
