#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "model/activation_memory.h"
#include "ops/linear_log_prob.h"
#include "ops/planned_tensors.h"

namespace roll {

namespace {

VocabularyShard vocabulary_shard(const Transformer& model) {
  Communicator* tp = model.parallel().tp;
  return {.begin = vocabulary_shard(model.spec(), tp->rank(), tp->size()).begin,
          .gather = [tp](const at::Tensor& x) { return at::stack(tp->all_gather(x, "log-probs")); }};
}

/// On the tokens' device.
LabelledSlots labelled_in(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                          const ModelParallel& parallel) {
  for (const LabelledSlots& there : tokens.labelled)
    if (there.wanted.is_same(wanted)) return there;
  LabelledSlots found = labelled_slots(layout, tokens, wanted, parallel);
  for (at::Tensor* tensor : {&found.slots, &found.unwanted})
    if (tensor->defined()) *tensor = sent(*tensor, tokens.ids.device());
  return found;
}

}  // namespace

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, const Recomputation& recompute, const at::Tensor& wanted,
                              bool with_energy) {
  const at::Tensor labels = at::roll(tokens.ids, -1);  // of a sequence's last token: anything
  LogProbOptions options;
  options.temperature = temperature;
  options.cap = model.spec().logit_cap;
  options.with_entropy = with_entropy;
  options.with_energy = with_energy;
  options.chunk_bytes = logits_chunk_bytes(!model.device().is_cpu());
  const ModelParallel& parallel = model.parallel();
  if (parallel.tp_size() > 1) options.shard = vocabulary_shard(model);
  const TokenLayout layout = lay_out(tokens, parallel);
  const LabelledSlots labelled = labelled_in(layout, tokens, wanted, parallel);
  options.rows = labelled.slots;
  at::Tensor hidden = model.forward(layout, recompute);
  if (!hidden.defined()) return {.log_probs = {}, .entropy = {}, .routers = tokens.routers};
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, 0), options);
  const auto packed = [&](const at::Tensor& x) {
    const at::Tensor all = numbers_of(to_packed(layout, x, parallel));
    return labelled.unwanted.defined() ? all.masked_fill(labelled.unwanted, 0) : all;
  };
  TokenLogProbs found{.log_probs = packed(result.log_probs), .entropy = {}, .routers = tokens.routers};
  if (with_entropy) found.entropy = packed(result.entropy);
  if (with_energy) found.energy = packed(result.energy);
  return found;
}

}  // namespace roll
