// Embedding, layers and final norm: what the language model and the value model share.
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
struct HeadTurn;
struct LayerPass;

/// A layer's description with its tensors, by their part of it.
class LayerWeights {
 public:
  /// Bug if a parameter is missing; shares their storage. `index`: of the layer. `tp`: the ranks that share the
  /// products, `ep`: those that share the experts, of which others' are left undefined; null: none.
  LayerWeights(const Layer& layer, size_t index, const std::string& prefix, const ParameterIndex& parameters,
               Communicator* tp = nullptr, Communicator* ep = nullptr);

  const Layer& layer() const { return layer_; }
  const Linear& operator[](const LinearShape& part) const { return find(part.name); }
  /// Those of parts that follow each other, from the first one on.
  const std::pair<std::string_view, Linear>* from(const LinearShape& first) const;
  at::Tensor operator[](const TensorShape& part) const { return find(part.name).weight; }
  /// Undefined where there is none.
  at::Tensor operator[](const NormShape& part) const { return part.width > 0 ? find(part.name).weight : at::Tensor(); }
  /// The layer's first norm.
  const at::Tensor& norm() const;
  /// All, in the order of the parts.
  std::vector<at::Tensor> all() const;

 private:
  const Linear& find(std::string_view name) const;

  Layer layer_;
  std::vector<std::pair<std::string_view, Linear>> parts_;
};

/// What surrounds a product whose weights are cut over ranks. Training keeps only 1/tp of the tokens between products
/// (sequence parallelism, Korthikanti et al. 2022); sampling keeps all, because they are few.
struct ParallelFlow {
  std::function<at::Tensor(const at::Tensor& x)> enter;    // the rank's tokens -> all of them
  std::function<at::Tensor(const at::Tensor& sum)> leave;  // partial sums of all tokens -> sums of the rank's
};

/// Keys and values of all attention, in the order of the blocks: [R, Hkv D] each; of all delta nets the states behind
/// the last token of each page, [P, ...] each.
struct KvRows {
  std::vector<at::Tensor> keys, values;
  std::vector<DeltaStates> states;
};

/// New tokens that lie in one page each sequence, and whose states are computed together.
struct StateRound {
  at::Tensor tokens;    // [N] int64: which of the new ones
  at::Tensor from, to;  // [B] int64: pages with the states before them, and for those behind them
  at::Tensor begins;    // [B] bool: there are none before
  DeltaPlan plan;
};

/// New tokens of sequences whose earlier ones have their keys and values in a cache.
struct CachedTokens {
  at::Tensor ids, positions;  // [N] int64
  int64_t num_positions = 0;  // all positions are below
  at::Tensor rows;            // [N] int64: rows of the cache for their keys and values
  at::Tensor seen;            // [K] int64: rows of the cache that the sequences see, their own included, by position
  std::vector<int64_t> cu_queries, cu_keys;  // [B+1]: the tokens and the seen rows of each sequence
  at::Tensor routed_experts{};               // [N, choices_per_token()] int16: to be filled in; undefined: nobody asks
  std::vector<StateRound> rounds{};          // one after the other; of a model without delta nets none
};

class Backbone {
 public:
  /// Takes the backbone's tensors out of `parameters` by name (Bug if one is missing); shares their storage. Under
  /// `parallel.tp` they are this rank's parts (parameter_shards.h), under `parallel.stage` its layers.
  Backbone(const ModelSpec& spec, const NamedTensors& parameters, const ModelParallel& parallel = {});

  const ModelSpec& spec() const { return spec_; }
  const ModelParallel& parallel() const { return parallel_; }
  /// [V, E], this rank's rows; in float32 where adapters are trained with it. Undefined on a stage that needs none.
  const at::Tensor& embedding() const { return embedding_; }
  const at::Tensor& final_norm() const { return final_norm_; }
  const std::vector<LayerWeights>& layers() const { return layers_; }
  /// The embeddings' projection to the layers' inputs; without a weight where this rank has none.
  const Linear& input_projection() const { return input_projection_; }
  at::Device device() const { return a_norm().device(); }
  at::ScalarType dtype() const { return a_norm().scalar_type(); }
  /// What embeddings are multiplied by, rounded to the model's dtype, as it was in training.
  double embedding_scale() const;
  double rounded(double number) const;
  /// Kernels of layers in place of the device's own.
  void launch_by(std::shared_ptr<const LayerLauncher> launcher) { launcher_ = std::move(launcher); }

  /// [S / tp, E] after the final norm; see Transformer::forward. In a pipeline through the chunk that the stage has
  /// entered; where that is not the model's end: undefined, and what it computed is on its way to the next stage.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute) const;
  /// [N, E] of new tokens after the final norm; their keys and values are put into the cache. No gradients.
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const;

 private:
  /// Of this rank's.
  const at::Tensor& a_norm() const;
  /// Those of the chunk that the stage has entered, or all.
  std::span<const LayerWeights> entered_layers() const;
  at::Tensor embed(const at::Tensor& ids, const ParallelFlow& flow) const;
  /// Rows of a table [vocabulary, ...], of which ranks share the rows, times `scale`.
  at::Tensor look_up(const at::Tensor& table, int64_t vocabulary, double scale, const at::Tensor& ids,
                     const ParallelFlow& flow) const;
  /// What layers are given beside the embeddings x.
  Carried carried(const at::Tensor& ids, const at::Tensor& x, const LayerPass& pass) const;
  at::Tensor last_norm(const at::Tensor& x) const;
  std::vector<HeadTurn> turns(const at::Tensor& positions, int64_t num_positions) const;
  std::function<at::Tensor(const DeltaHeads&, const DeltaRows&)> recurrence(const TokenLayout& layout) const;
  ParallelFlow training_flow() const;
  ParallelFlow sampling_flow() const;

  ModelSpec spec_;
  ModelParallel parallel_;
  at::Tensor embedding_, final_norm_;
  at::Tensor input_table_, input_norm_;            // of layers' inputs
  Linear input_projection_;                        // the same
  std::vector<LayerWeights> layers_;               // this rank's
  std::vector<Handover> handovers_;                // before each layer and behind the last; of a stage
  std::vector<at::Tensor> inverse_frequencies_;    // [R/2] float32 of each of the spec's ropes
  std::shared_ptr<const LayerLauncher> launcher_;  // null: LibTorch's operators and the CPU's own
};

/// `plain`: of the model without adapters. Their tensors, adapters merged, in the model's dtype. **Collective** as
/// merged_weight().
NamedTensors merged_parameters(const Backbone& backbone, const NamedTensors& parameters,
                               const std::vector<ParameterShape>& plain);

}  // namespace roll
