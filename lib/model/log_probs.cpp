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

/// What is computed of the tokens that have a label and are wanted. All of that is known on the host, which would have
/// to wait for a device that looked for them.
struct Labelled {
  at::Tensor slots;     // [N] int64 on the tokens' device, of this cp rank
  at::Tensor unwanted;  // [T] bool: of tokens whose result others want; undefined where there are none
};

Labelled labelled_in(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                     const ModelParallel& parallel) {
  const at::Device device = tokens.ids.device();
  const bool is_packed = layout.host_places.empty();
  for (const auto& [mask, rows] : tokens.labelled)
    if (is_packed && mask.is_same(wanted)) return {rows, {}};
  const at::Tensor labelled = labelled_tokens(tokens, wanted);
  if (is_packed) return {sent(labelled, device), {}};
  std::vector<char> has_label(tokens.num_tokens()),
      computed(layout.num_slots() * parallel.cp_size());  // of all cp ranks
  for (int64_t i = 0; i < labelled.numel(); ++i) {
    const int64_t token = labelled.const_data_ptr<int64_t>()[i];
    has_label[token] = computed[layout.host_places[token]] = 1;
  }
  std::vector<int64_t> slots;
  for (int64_t s = 0; s < layout.num_slots(); ++s)
    if (computed[layout.num_slots() * parallel.cp_rank() + s]) slots.push_back(s);
  Labelled found{sent(at::tensor(slots, at::kLong), device), {}};
  const at::Tensor unwanted = at::empty({tokens.num_tokens()}, at::kBool);
  bool* is_unwanted = unwanted.mutable_data_ptr<bool>();
  for (int64_t t = 0; t < tokens.num_tokens(); ++t) is_unwanted[t] = !has_label[t] && computed[layout.host_places[t]];
  if (unwanted.any().item<bool>()) found.unwanted = unwanted;
  return found;
}

}  // namespace

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, bool recompute, const at::Tensor& wanted, bool with_energy) {
  const at::Tensor labels = at::roll(tokens.ids, -1);  // of a sequence's last token: anything
  LogProbOptions options;
  options.temperature = temperature;
  options.with_entropy = with_entropy;
  options.with_energy = with_energy;
  options.chunk_bytes = logits_chunk_bytes(!model.device().is_cpu());
  const ModelParallel& parallel = model.parallel();
  if (parallel.tp_size() > 1) options.shard = vocabulary_shard(model);
  const TokenLayout layout = lay_out(tokens, parallel);
  const Labelled labelled = labelled_in(layout, tokens, wanted, parallel);
  options.rows = labelled.slots;
  at::Tensor hidden = model.forward(layout, recompute);
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, 0), options);
  const auto packed = [&](const at::Tensor& x) {
    const at::Tensor all = numbers_of(to_packed(layout, x, parallel));
    return labelled.unwanted.defined() ? all.masked_fill(sent(labelled.unwanted, all.device()), 0) : all;
  };
  TokenLogProbs found{.log_probs = packed(result.log_probs), .entropy = {}, .routers = tokens.routers};
  if (with_entropy) found.entropy = packed(result.entropy);
  if (with_energy) found.energy = packed(result.energy);
  return found;
}

}  // namespace roll
