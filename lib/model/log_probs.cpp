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

/// What is computed of the tokens that have a successor in their sequence and are wanted. All of that is known on the
/// host, which would have to wait for a device that looked for them.
struct Labelled {
  at::Tensor slots;     // [N] int64, of this cp rank
  at::Tensor unwanted;  // [T] bool: of tokens whose result others want; undefined where there are none
};

Labelled labelled_in(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                     const ModelParallel& parallel) {
  std::vector<char> has_label(tokens.num_tokens(), 1);
  for (int64_t b = 0; b < tokens.num_sequences(); ++b) has_label[tokens.cu_seqlens[b + 1] - 1] = 0;
  if (wanted.defined()) {
    const at::Tensor flags = wanted.to(at::kCPU).ne(0).contiguous();
    for (int64_t t = 0; t < tokens.num_tokens(); ++t) has_label[t] &= flags.const_data_ptr<bool>()[t];
  }
  const auto place = [&](int64_t t) { return layout.host_places.empty() ? t : layout.host_places[t]; };
  std::vector<char> computed(layout.num_slots() * parallel.cp_size());  // of all cp ranks
  for (int64_t t = 0; t < tokens.num_tokens(); ++t)
    if (has_label[t]) computed[place(t)] = 1;
  std::vector<int64_t> slots;
  for (int64_t s = 0; s < layout.num_slots(); ++s)
    if (computed[layout.num_slots() * parallel.cp_rank() + s]) slots.push_back(s);
  Labelled found{at::tensor(slots, at::kLong), {}};
  const at::Tensor unwanted = at::empty({tokens.num_tokens()}, at::kBool);
  bool* is_unwanted = unwanted.mutable_data_ptr<bool>();
  for (int64_t t = 0; t < tokens.num_tokens(); ++t) is_unwanted[t] = !has_label[t] && computed[place(t)];
  if (unwanted.any().item<bool>()) found.unwanted = unwanted;
  return found;
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
  const Labelled labelled = labelled_in(layout, tokens, wanted, parallel);
  options.rows = sent(labelled.slots, tokens.ids.device());
  at::Tensor hidden = model.forward(layout, recompute);
  if (parallel.tp_size() > 1) hidden = gather_rows(hidden, *parallel.tp, "hidden states");
  const LogProbs result = linear_log_prob(hidden, model.head_weight(), to_slots(layout, labels, 0), options);
  const auto packed = [&](const at::Tensor& x) {
    const at::Tensor all = numbers_of(to_packed(layout, x, parallel));
    return labelled.unwanted.defined() ? all.masked_fill(sent(labelled.unwanted, all.device()), 0) : all;
  };
  TokenLogProbs found{.log_probs = packed(result.log_probs), .entropy = {}};
  if (with_entropy) found.entropy = packed(result.entropy);
  if (with_energy) found.energy = packed(result.energy);
  return found;
}

}  // namespace roll
