// Each context, or the part that a branch adds to it, is cut into 2 cp chunks. Rank r holds chunks r and 2 cp - 1 - r:
// under a causal mask all ranks then have the same work.
#include "model/token_layout.h"

#include <ATen/ATen.h>

#include "base/error.h"
#include "device/transfers.h"
#include "dist/parallel_ops.h"
#include "model/router_training.h"
#include "ops/attention.h"
#include "ops/layer_ops.h"
#include "packing/alignment.h"

namespace roll {

namespace {

at::Tensor to_tensor(const std::vector<int64_t>& values, at::Device device) {
  return copy_to_device(at::tensor(values, at::kLong), device);
}

/// Lays out context after context for one cp rank.
class SlotWriter {
 public:
  SlotWriter(const PackedTokens& packed, const ModelParallel& parallel)
      : packed_(packed),
        cp_(parallel.cp_size()),
        rank_(parallel.cp_rank()),
        alignment_(sequence_alignment(cp_, parallel.tp_size())),
        tree_(packed.tree) {
    result_rows.resize(packed.num_tokens());
    for (int64_t c = 0; packed.tree.empty() && c < packed.num_contexts(); ++c) tree_.push_back({.context = c});
    int64_t all = 0;
    for (const Branch& branch : tree_) all += aligned(branch) - branch.shared;
    slots_ = all / cp_;
    for (const Branch& branch : tree_) add(branch);
  }

  std::vector<int64_t> tokens, positions;  // [S]
  std::vector<int64_t> keys;               // [K]
  std::vector<int64_t> cu_queries{0}, cu_keys{0};
  std::vector<int64_t> result_rows;  // [T]

 private:
  int64_t aligned(const Branch& branch) const {
    return aligned_length(packed_.context_length(branch.context), alignment_);
  }

  void add(const Branch& branch) {
    const int64_t added = aligned(branch) - branch.shared, num_chunks = cp_ > 1 ? 2 * cp_ : 1;
    ROLL_CHECK(added > 0 && added % num_chunks == 0, "a branch is cut into equal chunks");
    const int64_t chunk = added / num_chunks;
    rows_.resize(branch.shared);
    for (int64_t c = 0; c < num_chunks; ++c) {
      const int64_t owner = std::min(c, num_chunks - 1 - c), first = owner * slots_ + begin_ + (c < cp_ ? 0 : chunk);
      for (int64_t i = 0; i < chunk; ++i) rows_.push_back(first + i);
      if (owner == rank_) add_piece(branch, chunk);
    }
    begin_ += added / cp_;
    const int64_t token = packed_.contexts()[branch.context];
    std::copy_n(rows_.begin(), packed_.context_length(branch.context), result_rows.begin() + token);
  }

  /// Adds a piece: the last `size` tokens that have rows.
  void add_piece(const Branch& branch, int64_t size) {
    const int64_t end = std::ssize(rows_), length = packed_.context_length(branch.context);
    for (int64_t p = end - size; p < end; ++p) {
      positions.push_back(p);
      tokens.push_back(p < length ? packed_.contexts()[branch.context] + p : -1);
    }
    keys.insert(keys.end(), rows_.begin(), rows_.end());
    cu_queries.push_back(cu_queries.back() + size);
    cu_keys.push_back(std::ssize(keys));
  }

  const PackedTokens& packed_;
  int64_t cp_, rank_, alignment_;
  std::vector<Branch> tree_;
  int64_t slots_ = 0;          // per rank
  int64_t begin_ = 0;          // the branch's first slot, on every rank
  std::vector<int64_t> rows_;  // the context's rows after gathering over cp, by position
};

TokenLayout lay_out_tokens(const PackedTokens& packed, const ModelParallel& parallel) {
  const int64_t cp = parallel.cp_size(), tp = parallel.tp_size();
  TokenLayout layout{.ids = packed.ids,
                     .positions = packed.positions,
                     .num_positions = packed.longest_context(),
                     .dropout_keys = packed.dropout_keys,
                     .routed_experts = packed.routed_experts,
                     .cu_queries = packed.contexts(),
                     .cu_keys = packed.contexts(),
                     .query_bounds = packed.bounds,
                     .key_bounds = packed.bounds};
  if (cp * tp == 1 && packed.tree.empty()) return layout;
  layout.query_bounds.reset(), layout.key_bounds.reset();  // pieces are not contexts
  const at::Device device = packed.ids.device();
  SlotWriter slots(packed, parallel);
  layout.num_positions = aligned_length(layout.num_positions, sequence_alignment(cp, tp));
  layout.tokens = to_tensor(slots.tokens, device);
  layout.result_rows = to_tensor(slots.result_rows, device);
  layout.positions = to_tensor(slots.positions, device);
  layout.ids = to_slots(layout, packed.ids, 0);
  if (packed.dropout_keys.defined()) layout.dropout_keys = to_slots(layout, packed.dropout_keys, 0);
  if (packed.routed_experts.defined()) layout.routed_experts = to_slots(layout, packed.routed_experts, -1);
  layout.cu_queries = std::move(slots.cu_queries);
  layout.cu_keys = std::move(slots.cu_keys);
  layout.host_result_rows = std::move(slots.result_rows);
  if (cp > 1 || !packed.tree.empty()) layout.keys = to_tensor(slots.keys, device);
  return layout;
}

/// Gives the routers the slots of each context's tokens on this rank: each context is balanced by itself.
void lay_out_routers(const TokenLayout& layout, const PackedTokens& packed, const ModelParallel& parallel) {
  const int64_t first = layout.num_slots() * parallel.cp_rank();
  std::vector<int64_t> slots, contexts, ends;
  for (int64_t c = 0; c < packed.num_contexts(); ++c)
    for (int64_t t = packed.contexts()[c]; t < packed.contexts()[c + 1]; ++t) {
      const int64_t slot = (layout.host_result_rows.empty() ? t : layout.host_result_rows[t]) - first;
      if (slot < 0 || slot >= layout.num_slots()) continue;
      slots.push_back(slot);
      contexts.push_back(c);
      ends.push_back(t + 1 == packed.contexts()[c + 1]);
    }
  const at::Device device = packed.ids.device();
  const auto sent_if = [&](bool is_needed, const std::vector<int64_t>& numbers) {
    return is_needed ? to_tensor(numbers, device) : at::Tensor();
  };
  packed.routers->set_layout(sent_if(!layout.host_result_rows.empty(), slots), to_tensor(contexts, device),
                             sent_if(packed.routers->replays(), ends), packed.num_contexts(), parallel);
}

}  // namespace

TokenLayout lay_out(const PackedTokens& packed, const ModelParallel& parallel) {
  TokenLayout layout = packed.layout ? *packed.layout : lay_out_tokens(packed, parallel);
  if (!packed.routed_experts.defined()) layout.routed_experts.reset();
  layout.routers = packed.routers;
  if (layout.routers) lay_out_routers(layout, packed, parallel);
  return layout;
}

void add_bounds(TokenLayout& layout) {
  layout.query_bounds = sequence_bounds(layout.cu_queries);
  layout.key_bounds = layout.cu_keys == layout.cu_queries ? layout.query_bounds : sequence_bounds(layout.cu_keys);
}

LabelledSlots labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                             const ModelParallel& parallel) {
  const at::Tensor labelled = labelled_tokens(tokens, wanted);
  if (layout.host_result_rows.empty()) return {wanted, labelled};
  std::vector<char> has_label(tokens.num_tokens()),
      computed(layout.num_slots() * parallel.cp_size());  // slots of all cp ranks
  for (int64_t i = 0; i < labelled.numel(); ++i) {
    const int64_t token = labelled.const_data_ptr<int64_t>()[i];
    has_label[token] = computed[layout.host_result_rows[token]] = 1;
  }
  std::vector<int64_t> slots;
  for (int64_t s = 0; s < layout.num_slots(); ++s)
    if (computed[layout.num_slots() * parallel.cp_rank() + s]) slots.push_back(s);
  LabelledSlots found{wanted, at::tensor(slots, at::kLong)};
  const at::Tensor unwanted = at::empty({tokens.num_tokens()}, at::kBool);
  bool* is_unwanted = unwanted.mutable_data_ptr<bool>();
  for (int64_t t = 0; t < tokens.num_tokens(); ++t)
    is_unwanted[t] = !has_label[t] && computed[layout.host_result_rows[t]];
  if (unwanted.any().item<bool>()) found.unwanted = unwanted;
  return found;
}

at::Tensor to_slots(const TokenLayout& layout, const at::Tensor& x, int64_t padding) {
  if (!layout.tokens.defined()) return x;
  const at::Tensor is_padding = layout.tokens.lt(0);
  return x.index_select(0, layout.tokens.clamp_min(0))
      .masked_fill_(x.dim() == 1 ? is_padding : is_padding.unsqueeze(1), padding);
}

at::Tensor to_packed(const TokenLayout& layout, const at::Tensor& x, const ModelParallel& parallel) {
  if (!layout.result_rows.defined()) return x;
  const at::Tensor all = parallel.cp_size() > 1 ? gather_results(x, *parallel.cp, "results") : x;
  return select_rows(all, layout.result_rows);
}

}  // namespace roll
