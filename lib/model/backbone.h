// Backbone of the language model and the value model: embedding, layers and final norm.
// Legend: B sequences, T packed tokens, E hidden size, H query heads, Hkv key/value heads, D head size.
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

/// A layer's description and its tensors, looked up by part (LinearShape, TensorShape, NormShape).
class LayerWeights {
 public:
  /// Shares the parameters' storage. `index`: the layer's number. `tp`: ranks that share the products; `ep`: ranks that
  /// share the experts (other ranks' experts stay undefined); null: none. Bug: a parameter is missing.
  LayerWeights(const Layer& layer, size_t index, const std::string& prefix, const ParameterIndex& parameters,
               Communicator* tp = nullptr, Communicator* ep = nullptr);

  const Layer& layer() const { return layer_; }
  const Linear& operator[](const LinearShape& part) const { return find(part.name); }
  /// Returns a pointer to the tensors of `first`; those of the following parts come after it.
  const std::pair<std::string_view, Linear>* from(const LinearShape& first) const;
  at::Tensor operator[](const TensorShape& part) const { return find(part.name).weight; }
  /// Undefined if the layer has no such norm.
  at::Tensor operator[](const NormShape& part) const { return part.width > 0 ? find(part.name).weight : at::Tensor(); }
  /// Weight of the layer's first norm.
  const at::Tensor& norm() const;
  /// Returns all defined floating-point tensors, in the order of the parts.
  std::vector<at::Tensor> all() const;

 private:
  const Linear& find(std::string_view name) const;

  Layer layer_;
  std::vector<std::pair<std::string_view, Linear>> parts_;
};

/// Collectives around a product with sharded weights. Training keeps only 1/tp of the tokens between products (sequence
/// parallelism, Korthikanti et al. 2022); sampling keeps all, because they are few.
struct ParallelFlow {
  std::function<at::Tensor(const at::Tensor& x)> enter;    // this rank's tokens -> all tokens
  std::function<at::Tensor(const at::Tensor& sum)> leave;  // partial sums of all tokens -> sums of this rank's
};

/// KV cache: keys and values of each attention block, in order: [R, Hkv D] each. For each delta net: the states after
/// the last token of each page, [P, ...] each.
struct KvRows {
  std::vector<at::Tensor> keys, values;
  std::vector<DeltaStates> states;
};

/// New tokens whose delta-net states are computed together; each sequence's tokens lie in one page.
struct StateRound {
  at::Tensor tokens;    // [N] int64: indices among the new tokens
  at::Tensor from, to;  // [B] int64: pages to read states from, and to write them to
  at::Tensor begins;    // [B] bool: the sequence begins here with states of 0
  DeltaPlan plan;
};

/// New tokens of sequences whose earlier tokens' keys and values are in a KV cache.
struct CachedTokens {
  at::Tensor ids, positions;  // [N] int64
  int64_t num_positions = 0;  // above all positions
  at::Tensor rows;            // [N] int64: cache rows for their keys and values
  at::Tensor seen;            // [K] int64: cache rows that the sequences attend to, new ones included, by position
  std::vector<int64_t> cu_queries, cu_keys;  // [B+1]: offsets of each sequence's tokens and seen rows
  at::Tensor routed_experts{};               // [N, choices_per_token()] int16: output; undefined: not wanted
  std::vector<StateRound> rounds{};          // computed in order; empty without delta nets
};

class Backbone {
 public:
  /// Takes the backbone's tensors from `parameters` by name and shares their storage. Under `parallel.tp` they are this
  /// rank's shards (parameter_shards.h), under `parallel.stage` its layers. Bug: a tensor is missing.
  Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel = {});

  const ModelSpec& spec() const { return spec_; }
  const ModelParallel& parallel() const { return parallel_; }
  /// [V, E], this rank's rows; float32 if it is the copy that adapters are trained with. Undefined on a stage that
  /// needs none.
  const at::Tensor& embedding() const { return embedding_; }
  const at::Tensor& final_norm() const { return final_norm_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  /// Projects embeddings to the layers' inputs (LayerInput); has no weight if this rank has none.
  const Linear& input_projection() const { return input_projection_; }
  at::Device device() const { return any_norm().device(); }
  at::ScalarType dtype() const { return any_norm().scalar_type(); }
  /// Factor of the embeddings, rounded to the model's dtype as when the model was trained.
  double embedding_scale() const;
  double rounded(double number) const;
  /// Replaces the device's own layer kernels.
  void launch_by(std::shared_ptr<const LayerLauncher> launcher) { launcher_ = std::move(launcher); }
  /// forward() gets its layers' weights from `store`; null: they are always on this rank.
  void use_store(std::shared_ptr<LayerStore> store) { store_ = std::move(store); }

  /// Returns [S / tp, E] after the final norm; see Transformer::forward. In a pipeline it runs the chunk that the stage
  /// has entered. If that chunk is not the model's end, it sends its result to the next stage and returns undefined.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute) const;
  /// Returns [N, E] of new tokens after the final norm, and writes their keys and values to the cache. No gradients.
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const;

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
  /// Makes the layers' inputs from ids and embeddings x; empty if the model has none.
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
  std::vector<Handover> handovers_;                // at each layer boundary; only in a pipeline
  std::vector<at::Tensor> inverse_frequencies_;    // [R/2] float32 for each RoPE of the spec
  std::shared_ptr<const LayerLauncher> launcher_;  // null: LibTorch's and the CPU's operators
  std::shared_ptr<LayerStore> store_;
};

/// Returns the tensors of `plain`, the parameters of the model without adapters, with adapters merged, in the model's
/// dtype. **Collective** like merged_weight().
NamedTensors merged_parameters(const Backbone& backbone, const NamedTensors& parameters,
                               const std::vector<ParameterShape>& plain);

}  // namespace roll
