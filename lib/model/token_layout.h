// Layout of a packed batch on the ranks that share its contexts (cp) and layers (tp), with prefix sharing. Contexts are
// padded as the layout needs and, under cp, cut into chunks. Padding follows its context's tokens, which never attend
// to it, and is removed from results. A shared prefix (PackedTokens::tree) has slots only once; gradients from all its
// contexts are added.
// Legend: T packed tokens, S slots of this cp rank (tokens and padding), C pieces of contexts, K key rows.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/communicator.h"
#include "model/packed.h"

namespace roll {

class PipelineStage;

/// The ranks that share one copy of a model and its sequences. Null: this process alone.
struct ModelParallel {
  Communicator* tp = nullptr;                 // ranks that share each weight matrix
  Communicator* cp = nullptr;                 // ranks that share each sequence
  Communicator* ep = nullptr;                 // ranks that share the experts, and may have other sequences
  std::shared_ptr<PipelineStage> stage = {};  // one of several that share the layers

  int64_t tp_size() const { return tp ? tp->size() : 1; }
  int64_t tp_rank() const { return tp ? tp->rank() : 0; }
  int64_t cp_size() const { return cp ? cp->size() : 1; }
  int64_t cp_rank() const { return cp ? cp->rank() : 0; }
  int64_t ep_size() const { return ep ? ep->size() : 1; }
  int64_t ep_rank() const { return ep ? ep->rank() : 0; }
};

struct TokenLayout {
  at::Tensor ids, positions;    // [S] int64; padding has id 0 and continues the positions
  int64_t num_positions = 0;    // above all positions
  at::Tensor dropout_keys{};    // [S], from PackedTokens
  at::Tensor routed_experts{};  // [S, ...], from PackedTokens
  // A piece is a run of tokens of one context; its queries see its keys up to their own position.
  std::vector<int64_t> cu_queries, cu_keys;  // [C+1]
  at::Tensor query_bounds, key_bounds;       // the same as int32 on the device; undefined: not sent yet
  at::Tensor keys;         // [K] int64: rows of the keys gathered over cp; undefined: 0, 1, 2, ... on this rank
  at::Tensor tokens;       // [S] int64: index on the packed axis, -1 padding; undefined: 0, 1, 2, ...
  at::Tensor result_rows;  // [T] int64: row of a token's result after gathering over cp
  std::vector<int64_t> host_result_rows;    // [T]: `result_rows` on the host; empty: 0, 1, 2, ...
  std::shared_ptr<RouterTraining> routers;  // set up for this layout; null: none are trained

  int64_t num_slots() const { return ids.size(0); }
};

/// Returns this rank's slots of tokens [T], which are the same on all ranks.
TokenLayout lay_out(const PackedTokens& tokens, const ModelParallel& parallel);

/// Sets query_bounds and key_bounds, on the host.
void add_bounds(TokenLayout& layout);

/// Returns the slots of labelled tokens in `wanted` ([T] on the host; undefined: all). It works on the host, which
/// would otherwise wait for a device.
LabelledSlots labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                             const ModelParallel& parallel);

/// Returns x [T] or [T, N] at this rank's slots: [S] or [S, N], `padding` where there is no token.
at::Tensor to_slots(const TokenLayout& layout, const at::Tensor& x, int64_t padding);

/// Returns results x [S] of all cp ranks in packed order: [T] on every rank, which all then do the same with it.
/// Differentiable. **Collective** over cp.
at::Tensor to_packed(const TokenLayout& layout, const at::Tensor& x, const ModelParallel& parallel);

}  // namespace roll
