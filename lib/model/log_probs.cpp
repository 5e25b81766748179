#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "model/activation_memory.h"
#include "model/mtp.h"
#include "ops/planned_tensors.h"

namespace roll {

namespace {

VocabularyShard vocabulary_shard(const Transformer& model) {
  Communicator* tp = model.parallel().tp;
  return {.begin = vocabulary_shard(model.spec(), tp->rank(), tp->size()).begin,
          .gather = [tp](const at::Tensor& x) { return at::stack(tp->all_gather(x, "log-probs")); }};
}

/// Returns the wanted slots, on the tokens' device.
LabelledSlots find_labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                                  const ModelParallel& parallel) {
  for (const LabelledSlots& known : tokens.labelled)
    if (known.wanted.is_same(wanted)) return known;
  LabelledSlots found = labelled_slots(layout, tokens, wanted, parallel);
  for (at::Tensor* tensor : {&found.slots, &found.unwanted})
    if (tensor->defined()) *tensor = copy_to_device(*tensor, tokens.ids.device());
  return found;
}

LogProbOptions make_options(const Transformer& model) {
  LogProbOptions options;
  options.cap = model.spec().logit_cap;
  options.chunk_bytes = logits_chunk_bytes(!model.device().is_cpu());
  if (model.parallel().tp_size() > 1) options.shard = vocabulary_shard(model);
  return options;
}

/// Returns the rows of all tensor ranks: [S / tp, E] -> [S, E].
at::Tensor all_rows(const at::Tensor& hidden, const ModelParallel& parallel) {
  return parallel.tp_size() > 1 ? gather_rows(hidden, *parallel.tp, "hidden states") : hidden;
}

/// Returns results by slot as results by token: x [S] or [S, N] -> [T] or [T, N], with 0 for tokens that `labelled`
/// leaves out. **Collective** over cp.
at::Tensor results_of(const LabelledSlots& labelled, const TokenLayout& layout, const at::Tensor& x,
                      const ModelParallel& parallel) {
  const at::Tensor all = numbers_or_zeros(to_packed(layout, x, parallel));
  if (!labelled.unwanted.defined()) return all;
  return all.masked_fill(x.dim() == 1 ? labelled.unwanted : labelled.unwanted.unsqueeze(1), 0);
}

/// Returns TokenLogProbs::mtp_log_probs. hidden: result of the model's forward() for this layout. mask: further_mask().
at::Tensor mtp_log_probs(const Transformer& model, const PackedTokens& tokens, const TokenLayout& layout,
                         const at::Tensor& hidden, const Recomputation& recompute, const at::Tensor& mask) {
  const ModelParallel& parallel = model.parallel();
  const auto ids_ahead = [&](int64_t ahead) { return to_slots(layout, at::roll(tokens.ids, -ahead), 0); };
  const at::Tensor states = model.backbone().look_ahead(hidden, ids_ahead(1), layout, recompute);
  LogProbOptions options = make_options(model);
  const LabelledSlots labelled = find_labelled_slots(layout, tokens, mask, parallel);
  options.rows = labelled.slots;
  const LogProbs result =
      linear_log_prob(all_rows(states, parallel), model.head_weight().detach(), ids_ahead(2), options);
  return results_of(labelled, layout, result.log_probs, parallel);
}

}  // namespace

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, const Recomputation& recompute, const at::Tensor& wanted,
                              bool with_energy, const at::Tensor& choices) {
  const at::Tensor labels = at::roll(tokens.ids, -1);  // a sequence's last token has no label
  LogProbOptions options = make_options(model);
  options.temperature = temperature;
  options.with_entropy = with_entropy;
  options.with_energy = with_energy;
  const ModelParallel& parallel = model.parallel();
  const TokenLayout layout = lay_out(tokens, parallel);
  const LabelledSlots labelled = find_labelled_slots(layout, tokens, wanted, parallel);
  options.rows = labelled.slots;
  if (choices.defined()) options.choices = to_slots(layout, choices, 0);
  const at::Tensor hidden = model.forward(layout, recompute);
  if (!hidden.defined()) return {.log_probs = {}, .entropy = {}, .routers = tokens.routers};
  const LogProbs result =
      linear_log_prob(all_rows(hidden, parallel), model.head_weight(), to_slots(layout, labels, 0), options);
  const auto packed = [&](const at::Tensor& x) { return results_of(labelled, layout, x, parallel); };
  TokenLogProbs found{.log_probs = packed(result.log_probs), .entropy = {}, .routers = tokens.routers};
  if (with_entropy) found.entropy = packed(result.entropy);
  if (with_energy) found.energy = packed(result.energy);
  if (tokens.trains_mtp) {
    const at::Tensor mask = further_mask(tokens, wanted);
    found.mtp_log_probs = mtp_log_probs(model, tokens, layout, hidden, recompute, mask);
    found.num_mtp = mask.sum().item<int64_t>();
  }
  if (choices.defined()) found.choice_logits = packed(result.choice_logits);
  return found;
}

TopLogits token_top_logits(const Transformer& model, const PackedTokens& tokens, int64_t k, int64_t vocabulary,
                           const at::Tensor& wanted) {
  const ModelParallel& parallel = model.parallel();
  const TokenLayout layout = lay_out(tokens, parallel);
  const at::Tensor slots = find_labelled_slots(layout, tokens, wanted, parallel).slots;
  const at::Tensor local = model.forward(layout);
  if (!local.defined()) return {};
  const at::Tensor hidden = all_rows(local, parallel);
  const TopLogits top =
      top_logits(hidden.index_select(0, slots), model.head_weight(), k, vocabulary, make_options(model));
  const auto packed = [&](const at::Tensor& x) {
    return to_packed(layout, at::zeros({hidden.size(0), k}, x.options()).index_copy_(0, slots, x), parallel);
  };
  return {packed(top.logits), packed(top.ids)};
}

}  // namespace roll
