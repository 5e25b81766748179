#include "model/log_probs.h"

#include <ATen/ATen.h>

#include "device/transfers.h"
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

/// [N] int64: the slots of tokens that have a successor in their sequence and are wanted. All of that is known on the
/// host, which would have to wait for a device that looked for them.
at::Tensor labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted) {
  std::vector<char> has_label(tokens.num_tokens(), 1);
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) has_label[tokens.cu_seqlens[b + 1] - 1] = 0;
  if (wanted.defined()) {
    const at::Tensor flags = wanted.to(at::kCPU).ne(0).contiguous();
    for (int64_t t = 0; t < tokens.num_tokens(); ++t) has_label[t] &= flags.const_data_ptr<bool>()[t];
  }
  std::vector<int64_t> slots;
  const bool is_packed = layout.host_tokens.empty();
  const int64_t num_slots = is_packed ? tokens.num_tokens() : std::ssize(layout.host_tokens);
  for (int64_t s = 0; s < num_slots; ++s) {
    const int64_t token = is_packed ? s : layout.host_tokens[s];
    if (token >= 0 && has_label[token]) slots.push_back(s);
  }
  return at::tensor(slots, at::kLong);
}

}  // namespace

TokenLogProbs token_log_probs(const Transformer& model, const PackedTokens& tokens, double temperature,
                              bool with_entropy, bool recompute, const at::Tensor& wanted, bool with_energy) {
  // A GPU needs many rows per product to be busy, and has the memory for them.
  static constexpr int64_t kChunkBytesOnGpu = int64_t{512} << 20;
  const at::Tensor labels = at::roll(tokens.ids, -1);  // of a sequence's last token: anything
  LogProbOptions options;
  options.temperature = temperature;
  options.with_entropy = with_entropy;
  options.with_energy = with_energy;
  if (model.device().is_cuda()) options.chunk_bytes = kChunkBytesOnGpu;
  const ModelParallel& parallel = model.parallel();
  if (parallel.tp_size() > 1) options.shard = vocabulary_shard(model);
  const TokenLayout layout = lay_out(tokens, parallel);
  options.rows = sent(labelled_slots(layout, tokens, wanted), tokens.ids.device());
  at::Tensor hidden = model.forward(layout, recompute);
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, 0), options);
  TokenLogProbs packed{.log_probs = numbers_of(to_packed(layout, result.log_probs, parallel)), .entropy = {}};
  if (with_entropy) packed.entropy = numbers_of(to_packed(layout, result.entropy, parallel));
  if (with_energy) packed.energy = numbers_of(to_packed(layout, result.energy, parallel));
  return packed;
}

}  // namespace roll
