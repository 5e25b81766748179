// Layout of a packed batch (packed.h) on the ranks that share its contexts (cp) and weight matrices (tp), with prefix
// sharing. A context is usually one sequence, prompt and response; tokens attend only to earlier ones of their context.
// Contexts are padded to a multiple that cp and tp need. With cp > 1 each is cut into 2 cp equal chunks. Context rank
// r computes chunks r and 2 cp - 1 - r ("zigzag"): under the causal mask all ranks then have the same work. A
// slot is a place for one token or padding token on a context rank. Padding follows its context's tokens, which never
// attend to it, and is removed from results. If contexts share a prefix (PackedTokens::tree), it has slots only once;
// the gradients from all these contexts are added there. Tensors are on the device of PackedTokens::ids unless stated.
// Legend: T packed tokens, S slots of this context rank, C pieces (consecutive slots of one context that this rank
// computes), K key rows of all pieces.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "dist/communicator.h"
#include "model/packed.h"

namespace roll {

class PipelineStage;

/// The ranks that share one copy of a model and its sequences. nullptr: no sharding; this rank has the whole.
struct ModelParallel {
  Communicator* tp = nullptr;                 // ranks that share each weight matrix; all have the same batch
  Communicator* cp = nullptr;                 // ranks that share each context; all have the same batch
  Communicator* ep = nullptr;                 // ranks that share the experts; their batches may differ
  std::shared_ptr<PipelineStage> stage = {};  // this rank's pipeline stage; null: this rank has all layers

  int64_t tp_size() const { return tp ? tp->size() : 1; }
  int64_t tp_rank() const { return tp ? tp->rank() : 0; }
  int64_t cp_size() const { return cp ? cp->size() : 1; }
  int64_t cp_rank() const { return cp ? cp->rank() : 0; }
  int64_t ep_size() const { return ep ? ep->size() : 1; }
  int64_t ep_rank() const { return ep ? ep->rank() : 0; }
};

/// The slots of this context rank, with indices that map tokens to slots and results back.
struct TokenLayout {
  at::Tensor ids, positions;    // [S] int64, by slot; padding has id 0, and its positions continue the context's
  int64_t num_positions = 0;    // larger than every position: the length of the RoPE tables
  at::Tensor dropout_keys{};    // [S], those of PackedTokens by slot; undefined: no dropout
  at::Tensor routed_experts{};  // [S, choices], those of PackedTokens by slot, -1 for padding; undefined: not given
  // Attention takes each piece as one sequence of queries with its own keys. A piece's keys are those of all tokens of
  // its context up to the piece's end. A query sees those up to its own position.
  std::vector<int64_t> cu_queries;      // [C+1] from 0: piece c's queries are slots [cu_queries[c], cu_queries[c + 1])
  std::vector<int64_t> cu_keys;         // [C+1] from 0: piece c's keys are key rows [cu_keys[c], cu_keys[c + 1]) of K
  at::Tensor query_bounds, key_bounds;  // [C+1] each: cu_queries and cu_keys as int32; undefined: not computed yet
  // Below, row r of a tensor [cp S, ...] gathered over cp is slot r % S of context rank r / S.
  at::Tensor keys;    // [K] int64: row of each key in the keys gathered over cp; undefined: 0, 1, 2, ...
  at::Tensor tokens;  // [S] int64: index of the slot's token among the T, -1 for padding; undefined: 0, 1, 2, ...
  // [T] int64: row of each token's result in the results gathered over cp; undefined: 0, 1, 2, ...
  at::Tensor result_rows;
  std::vector<int64_t> host_result_rows;    // [T]: result_rows on the host; empty: 0, 1, 2, ...
  std::shared_ptr<RouterTraining> routers;  // knows this layout; null: routers are not trained

  int64_t num_slots() const { return ids.size(0); }
};

/// Lays out a batch and returns this rank's layout. `tokens` must be the same on all ranks of parallel.tp, parallel.cp
/// and the pipeline. Also gives the layout to tokens.routers, if set. If tokens.layout is set, takes the layout from
/// there. Not collective.
TokenLayout lay_out(const PackedTokens& tokens, const ModelParallel& parallel);

/// Sets query_bounds and key_bounds to tensors on the host, for a caller that sends them to the device.
void add_bounds(TokenLayout& layout);

/// Returns the slots of this rank whose tokens have a label (a next token in their context) and are in the mask
/// `wanted`. wanted: [T] on the host, undefined: all 1; wanted[t] = 0 means that no result is needed for token t as the
/// one that predicts token t + 1. The result is on the host.
LabelledSlots labelled_slots(const TokenLayout& layout, const PackedTokens& tokens, const at::Tensor& wanted,
                             const ModelParallel& parallel);

/// Returns the values of this rank's slots: x [T] or [T, N] -> [S] or [S, N], with `padding` in padding slots.
at::Tensor to_slots(const TokenLayout& layout, const at::Tensor& x, int64_t padding);

/// Returns the results of all context ranks in packed order on every rank: x [S] or [S, N] -> [T] or [T, N].
/// Differentiable, if every rank then computes the same loss from them. **Collective** over cp.
at::Tensor to_packed(const TokenLayout& layout, const at::Tensor& x, const ModelParallel& parallel);

}  // namespace roll
