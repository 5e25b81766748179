// Backbone that the language model (transformer.h) and the value model (value_model.h) share: embedding, layers and
// final norm, for training and for sampling with a KV cache.
// Legend: S slots of a context rank (token_layout.h), N new tokens and B sequences in sampling, V vocabulary, E hidden
// size, Hkv key/value heads, D head size, R rows and P pages of a KV cache.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "checkpoint/safetensors.h"
#include "model/handover.h"
#include "model/layer.h"
#include "model/linear.h"
#include "model/packed.h"
#include "model/spec.h"
#include "model/token_layout.h"
#include "model/weights.h"
#include "ops/delta_rule.h"
#include "ops/layer_ops.h"
#include "ops/recomputation.h"

namespace roll {

class LayerLauncher;
struct Carried;
struct HeadRotation;
class LayerStore;
struct LayerPass;
struct MtpWeights;

/// A layer's description and its tensors. A part is a LinearShape, TensorShape or NormShape of the description;
/// operator[] returns the tensors of a part.
class LayerWeights {
 public:
  /// Shares the storage of `parameters`, in which the layer's names begin with `prefix`. `index`: the layer's number in
  /// the model. `tp`: ranks that share each weight matrix; `ep`: ranks that share the experts (other ranks' experts
  /// stay undefined); null: not shared. Throws Bug if a parameter is missing.
  LayerWeights(const Layer& layer, size_t index, const std::string& prefix, const ParameterIndex& parameters,
               Communicator* tp = nullptr, Communicator* ep = nullptr);

  const Layer& layer() const { return layer_; }
  const Linear& operator[](const LinearShape& part) const { return find(part.name); }
  /// Returns a pointer to the (name, tensors) entry of `first`; the entries of later parts (in for_each_part()'s order)
  /// follow in memory.
  const std::pair<std::string_view, Linear>* from(const LinearShape& first) const;
  at::Tensor operator[](const TensorShape& part) const { return find(part.name).weight; }
  /// Returns the norm's weight; undefined if the layer has no such norm.
  at::Tensor operator[](const NormShape& part) const { return part.width > 0 ? find(part.name).weight : at::Tensor(); }
  /// Returns the weight of the layer's first norm: the one before its first block, or else the one after it.
  const at::Tensor& norm() const;
  /// Returns all defined floating-point tensors, in the order of the parts.
  std::vector<at::Tensor> all() const;

 private:
  const Linear& find(std::string_view name) const;

  Layer layer_;
  std::vector<std::pair<std::string_view, Linear>> parts_;
};

/// Collectives over tensor ranks around the linear layers with sharded weights. In training, each rank holds only 1/tp
/// of the tokens elsewhere (sequence parallelism, Korthikanti et al. 2022); in sampling, each rank holds all
/// tokens.
struct ParallelFlow {
  std::function<at::Tensor(const at::Tensor& x)> enter;    // tokens that this rank holds -> all tokens
  std::function<at::Tensor(const at::Tensor& sum)> leave;  // this rank's partial sums -> sums of the tokens it holds
};

/// KV cache of R rows, one per cached token, in P pages of equally many rows.
struct KvRows {
  // [R, Hkv D] for each attention block that computes keys, in layer order. With latent attention keys and values are
  // the same tensor, [R, LatentAttention::cached_dim()].
  std::vector<at::Tensor> keys, values;
  std::vector<DeltaStates> states;  // for each delta net, in layer order: the states after each page's last token
};

/// A group of new tokens through which delta nets advance their states together: of each of B sequences, consecutive
/// tokens within one page. A sequence with new tokens in several pages takes part in several rounds.
struct StateRound {
  at::Tensor tokens;    // [N] int64: indices among the new tokens
  at::Tensor from, to;  // [B] int64: page of each sequence's state before the round, and page to write its new state to
  at::Tensor begins;    // [B] bool: true if the sequence's first token is here; its state is then 0, not that of `from`
  DeltaPlan plan;       // plan_delta() for these tokens
};

/// N new tokens of B sequences, sequence after sequence; the keys and values of their earlier tokens are in a KV cache.
struct CachedTokens {
  at::Tensor ids, positions;  // [N] int64; positions count from 0 in each sequence
  int64_t num_positions = 0;  // larger than every position: the length of the RoPE tables
  at::Tensor rows;            // [N] int64: cache rows to which the new tokens' keys and values are written
  at::Tensor seen;            // [K] int64: cache rows of each sequence's tokens, new ones included, by position
  std::vector<int64_t> cu_queries, cu_keys;  // [B+1]: begin of each sequence in the new tokens, and in `seen`
  /// Output, [N, choices_per_token()] int16 (mixture.h): experts used; undefined: not recorded.
  at::Tensor routed_experts{};
  std::vector<StateRound> rounds{};  // computed in order; empty without delta nets
};

class Backbone {
 public:
  /// Finds the backbone's tensors in `parameters` by name and shares their storage. Under `parallel.tp` they must be
  /// this rank's shards (parameter_shards.h); under `parallel.stage` only this stage's layers are needed. Throws Bug if
  /// a tensor is missing.
  Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel = {});

  const ModelSpec& spec() const { return spec_; }
  const ModelParallel& parallel() const { return parallel_; }
  /// This rank's rows of the [V, E] embedding, or of the float32 copy that is trained with adapters (modules_to_save).
  /// Undefined on a pipeline stage that needs no embedding.
  const at::Tensor& embedding() const { return embedding_; }
  const at::Tensor& final_norm() const { return final_norm_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  /// Projects embeddings to the per-layer inputs (LayerInput). Its weight is undefined if the model has no such inputs
  /// or this is not the first pipeline stage.
  const Linear& input_projection() const { return input_projection_; }
  at::Device device() const { return any_norm().device(); }
  at::ScalarType dtype() const { return any_norm().scalar_type(); }
  /// Factor of the embeddings, rounded to the model's dtype as when the model was trained.
  double embedding_scale() const;
  /// Returns the number rounded to the model's dtype.
  double rounded(double number) const;
  /// Makes forward() and extend() launch layer kernels by `launcher` instead of the device's default one.
  void launch_by(std::shared_ptr<const LayerLauncher> launcher) { launcher_ = std::move(launcher); }
  /// Makes forward() call `store` before and after each layer, as LayerStore says; null: all weights are always on this
  /// rank.
  void use_store(std::shared_ptr<LayerStore> store) { store_ = std::move(store); }

  /// Returns [S / tp, E] after the final norm, for the S slots of `layout` on this context rank; each tensor rank has
  /// an equal part. In a pipeline, runs the layers of the chunk that the stage has entered (PipelineStage). Unless
  /// these are the model's last layers, it sends their result to the next stage and returns undefined. **Collective**
  /// over cp, tp and ep; the previous stage must make the same call.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute) const;
  /// Returns [N, E] of the new tokens after the final norm, on every tensor rank, and writes their keys, values and
  /// states to `cache`. No gradients; needs a model without pipeline stages and expert ranks. **Collective** over tp.
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const;
  /// Returns the input of the lm head by which the MTP head (mtp.h) predicts, at each slot, the token after the next
  /// one: [S / tp, E], like `hidden`, the result of forward() for this layout. next_ids: [S], the ids of the next
  /// tokens. spec().trains_mtp must be set. Call it only where forward() returned a tensor. **Collective** over cp, tp
  /// and ep.
  at::Tensor look_ahead(const at::Tensor& hidden, const at::Tensor& next_ids, const TokenLayout& layout,
                        const Recomputation& recompute) const;

 private:
  /// Returns one norm weight of this rank, for its device and dtype.
  const at::Tensor& any_norm() const;
  std::shared_ptr<const LayerPass> training_pass(const TokenLayout& layout) const;
  /// Returns the input of the chunk that the stage has entered: embeddings, or what the stage before sent.
  at::Tensor enter_chunk(const TokenLayout& layout, const LayerPass& pass, Carried& beside) const;
  /// Returns the model's output, or sends the chunk's output to the next stage and returns undefined.
  at::Tensor leave_chunk(const at::Tensor& x, Carried& beside) const;
  /// Layers of the chunk that the stage has entered; all without a pipeline.
  std::span<const LayerWeights> entered_layers() const;
  at::Tensor embed(const at::Tensor& ids, const ParallelFlow& flow) const;
  /// Returns rows `ids` of a table [vocabulary, ...] sharded by rows, times `scale`.
  at::Tensor look_up(const at::Tensor& table, int64_t vocabulary, double scale, const at::Tensor& ids,
                     const ParallelFlow& flow) const;
  /// Makes the per-layer inputs from ids and embeddings x; empty if the model has none.
  Carried carried(const at::Tensor& ids, const at::Tensor& x, const LayerPass& pass) const;
  at::Tensor last_norm(const at::Tensor& x) const;
  std::vector<HeadRotation> head_rotations(const at::Tensor& positions, int64_t num_positions) const;
  std::function<at::Tensor(const DeltaHeads&, const DeltaRows&)> recurrence(const TokenLayout& layout) const;
  ParallelFlow training_flow() const;
  ParallelFlow sampling_flow() const;

  ModelSpec spec_;
  ModelParallel parallel_;
  at::Tensor embedding_, final_norm_;
  at::Tensor input_table_, input_norm_;            // for LayerInput
  Linear input_projection_;                        // for LayerInput
  std::vector<LayerWeights> layers_;               // this rank's
  std::shared_ptr<const MtpWeights> mtp_;          // null without spec_.trains_mtp, and before the last stage
  std::vector<Handover> handovers_;                // at each layer boundary; only in a pipeline
  std::vector<at::Tensor> inverse_frequencies_;    // [R/2] float32 for each RoPE of the spec
  std::shared_ptr<const LayerLauncher> launcher_;  // null: LibTorch's and the CPU's operators
  std::shared_ptr<LayerStore> store_;
};

/// Returns a tensor for each of `plain`, the parameters of the same model without adapters: this rank's shard, with
/// adapters merged into the weights, in the model's dtype. `parameters`: the model's. **Collective** over tp if there
/// are DoRA adapters.
NamedTensors merged_parameters(const Backbone& backbone, const NamedTensors& parameters,
                               const std::vector<ParameterShape>& plain);

}  // namespace roll
