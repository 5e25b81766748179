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

/// [N] int64 on the tokens' device: the slots of tokens that have a label and are wanted. All of that is known on the
/// host, which would have to wait for a device that looked for them.
at::Tensor labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted) {
  const at::Device device = tokens.ids.device();
  const bool is_packed = layout.host_tokens.empty();
  for (const auto& [mask, rows] : tokens.labelled)
    if (is_packed && mask.is_same(wanted)) return rows;
  const at::Tensor labelled = labelled_tokens(tokens, wanted);
  if (is_packed) return sent(labelled, device);
  std::vector<char> has_label(tokens.num_tokens());
  for (int64_t i = 0; i < labelled.numel(); ++i) has_label[labelled.const_data_ptr<int64_t>()[i]] = 1;
  std::vector<int64_t> slots;
  for (int64_t s = 0; s < std::ssize(layout.host_tokens); ++s)
    if (const int64_t token = layout.host_tokens[s]; token >= 0 && has_label[token]) slots.push_back(s);
  return sent(at::tensor(slots, at::kLong), device);
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
  options.rows = labelled_slots(layout, tokens, wanted);
  at::Tensor hidden = model.forward(layout, recompute);
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, 0), options);
  TokenLogProbs packed{.log_probs = numbers_of(to_packed(layout, result.log_probs, parallel)), .entropy = {}};
  if (with_entropy) packed.entropy = numbers_of(to_packed(layout, result.entropy, parallel));
  if (with_energy) packed.energy = numbers_of(to_packed(layout, result.energy, parallel));
  return packed;
}

}  // namespace roll
