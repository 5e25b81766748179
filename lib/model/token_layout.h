// How a packed batch lies on the ranks that share its contexts (cp) and its layers (tp), and which of its tokens stand
// for several. Contexts are padded to what the layout needs and, under cp, cut into chunks; padding stands behind the
// tokens of its context, which never look at it, and results lose it again. What contexts begin with alike
// (PackedTokens::tree) lies there once: gradients of what each of them makes of it are added.
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
  Communicator* tp = nullptr;                 // share each weight matrix
  Communicator* cp = nullptr;                 // share each sequence
  Communicator* ep = nullptr;                 // share the experts, and may have other sequences
  std::shared_ptr<PipelineStage> stage = {};  // of several, which share the layers

  int64_t tp_size() const { return tp ? tp->size() : 1; }
  int64_t tp_rank() const { return tp ? tp->rank() : 0; }
  int64_t cp_size() const { return cp ? cp->size() : 1; }
  int64_t cp_rank() const { return cp ? cp->rank() : 0; }
  int64_t ep_size() const { return ep ? ep->size() : 1; }
  int64_t ep_rank() const { return ep ? ep->rank() : 0; }
};

struct TokenLayout {
  at::Tensor ids, positions;    // [S] int64; padding has id 0 and goes on counting
  int64_t num_positions = 0;    // all positions are below
  at::Tensor dropout_names{};   // [S] those of the tokens
  at::Tensor routed_experts{};  // [S, ...] likewise
  // A piece is a run of tokens of one context; its queries see its keys up to their own position.
  std::vector<int64_t> cu_queries, cu_keys;  // [C+1]
  at::Tensor query_bounds, key_bounds;       // these on the device, int32; undefined: not there yet
  at::Tensor keys;                   // [K] int64: rows of the keys gathered over cp; undefined: 0, 1, 2, ... of the own
  at::Tensor tokens;                 // [S] int64: index on the packed axis, -1 padding; undefined: 0, 1, 2, ...
  at::Tensor places;                 // [T] int64: where a token's result lies once gathered over cp
  std::vector<int64_t> host_places;  // [T] these on the host; empty: 0, 1, 2, ...
  std::shared_ptr<RouterTraining> routers;  // that know how the tokens lie; null: none are trained

  int64_t num_slots() const { return ids.size(0); }
};

/// tokens [T], the same on all ranks, as this rank's slots.
TokenLayout lay_out(const PackedTokens& tokens, const ModelParallel& parallel);

/// What a device is told of the pieces, on the host.
void add_bounds(TokenLayout& layout);

/// Of the tokens that are in `wanted` ([T] on the host; undefined: all). All of that is known on the host, which would
/// have to wait for a device that looked for them.
LabelledSlots labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                             const ModelParallel& parallel);

/// x [T] or [T, N] at this rank's slots: [S] or [S, N], `padding` where there is no token.
at::Tensor to_slots(const TokenLayout& layout, const at::Tensor& x, int64_t padding);

/// Results x [S] of all cp ranks in packed order: [T] on every rank, which then all do the same with it.
/// Differentiable. **Collective** over cp.
at::Tensor to_packed(const TokenLayout& layout, const at::Tensor& x, const ModelParallel& parallel);

}  // namespace roll
