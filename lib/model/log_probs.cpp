#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "dist/parallel_ops.h"
#include "ops/linear_log_prob.h"
#include "ops/planned_tensors.h"

namespace roll {

namespace {

VocabularyShard vocabulary_shard(const Transformer& model) {
  Communicator* tp = model.parallel().tp;
  return {.begin = vocabulary_shard(model.spec(), tp->rank(), tp->size()).begin,
          .gather = [tp](const at::Tensor& x) { return at::stack(tp->all_gather(x, "log-probs")); }};
}

}  // namespace

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, bool recompute, const at::Tensor& wanted, bool with_energy) {
  // A GPU needs many rows per product to be busy, and has the memory for them.
  static constexpr int64_t kChunkBytesOnGpu = int64_t{512} << 20;
  at::Tensor labels = next_token_labels(tokens);
  if (wanted.defined()) labels.masked_fill_(wanted.to(labels.device()).logical_not(), -1);
  LogProbOptions options;
  options.temperature = temperature;
  options.with_entropy = with_entropy;
  options.with_energy = with_energy;
  if (model.device().is_cuda()) options.chunk_bytes = kChunkBytesOnGpu;
  const ModelParallel& parallel = model.parallel();
  if (parallel.tp_size() > 1) options.shard = vocabulary_shard(model);
  const TokenLayout layout = lay_out(tokens, parallel);
  at::Tensor hidden = model.forward(layout, recompute);
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, -1), options);
  TokenLogProbs packed{.log_probs = numbers_of(to_packed(layout, result.log_probs, parallel)), .entropy = {}};
  if (with_entropy) packed.entropy = numbers_of(to_packed(layout, result.entropy, parallel));
  if (with_energy) packed.energy = numbers_of(to_packed(layout, result.energy, parallel));
  return packed;
}

}  // namespace roll
