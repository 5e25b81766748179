// The causal language model: HF weights in, packed tokens in, hidden states and log-probs out.
// One set of weights serves training (autograd), log-probs and sampling (KV cache).
// Legend: B sequences, T packed tokens, E hidden size, V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

#include "checkpoint/hf_folder.h"
#include "model/backbone.h"
#include "model/packed.h"
#include "model/parameter_shards.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

class Transformer {
 public:
  /// From an HF folder, or a PEFT folder with adapters beside a model; weights are converted to `dtype`. Under
  /// `parallel`, the rank's part of them; its communicators must outlive the model. `lora`: what is trained, as in
  /// with_adapters(). `base`: as in AdapterSource. UserError names the tensor, what was expected and what found.
  static Transformer load(const std::filesystem::path& folder, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat, const ModelParallel& parallel = {},
                          const Architectures& known = architectures(), const std::optional<LoraSpec>& lora = {},
                          const NamedTensors* base = nullptr);

  /// The same tensors without adapters.
  Transformer without_adapters() const;
  /// The same tensors for a run whose sequences have up to `longest` tokens, see for_length() in spec.h; after load()
  /// they are within the original context.
  Transformer for_length(int64_t longest) const;

  /// Random weights: normal with standard deviation 0.02, norms 1, biases 0; named by (seed, parameter, index), so the
  /// same on every machine.
  static Transformer init(const ModelSpec& spec, uint64_t seed, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat);

  /// This rank's part of a model without weights (ops/planned_tensors.h): it computes nothing, and its collectives move
  /// as much as those of a real one.
  static Transformer planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel);

  const ModelSpec& spec() const { return backbone_.spec(); }
  at::Device device() const { return backbone_.device(); }
  at::ScalarType dtype() const { return backbone_.dtype(); }

  /// Leaf tensors that require gradients, under HF's names; a tied head appears once, as the embedding.
  /// Update them in place: the model holds the same tensors.
  NamedTensors& parameters() { return parameters_; }
  const NamedTensors& parameters() const { return parameters_; }
  /// Those that are trained: all, or the adapters.
  const NamedTensors& trained() const { return trained_; }

  Backbone& backbone() { return backbone_; }
  const Backbone& backbone() const { return backbone_; }
  const ModelParallel& parallel() const { return backbone_.parallel(); }
  /// Which parts of the parameters this rank holds.
  const ParameterShards& parts() const { return *parts_; }

  /// [S / tp, E] for the head: after the final norm, scaled as logits are, with autograd unless a NoGradGuard is held:
  /// the rank's slots of the layout, of which each tp rank has as many. `recompute` keeps only each layer's input and
  /// computes the layer again in backward; the gradient is the same to the bit. On a stage of a pipeline but the last:
  /// undefined, see Backbone::forward(). **Collective** over cp, tp and stages.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute = {}) const {
    return for_head(backbone_.forward(layout, recompute));
  }
  /// [T, E] of a model that one process holds.
  at::Tensor forward(const PackedTokens& tokens, const Recomputation& recompute = {}) const {
    return forward(lay_out(tokens, parallel()), recompute);
  }
  /// [N, E] for the head of new tokens, see Backbone::extend().
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const {
    return for_head(backbone_.extend(tokens, cache));
  }

  /// [V, E]: this rank's rows of the lm head (the embedding when tied), in the model's dtype.
  at::Tensor head_weight() const { return head_.to(dtype()); }

  /// hidden [N, E] -> [N, V] float32, the same on every tp rank. For the sampler; training never holds full logits
  /// (log_probs.h). **Collective** over tp.
  at::Tensor logits(const at::Tensor& hidden) const;

  /// [N, this rank's rows of the vocabulary] -> [N, V], the same on every tp rank. **Collective** over tp.
  at::Tensor gather_vocabulary(const at::Tensor& mine) const;

  /// Writes an HF folder that transformers opens, adapters merged into the weights. Beside it go the companions of the
  /// one that it was loaded from.
  void save(const std::filesystem::path& folder, const HfSaveOptions& options = {}) const;
  /// What is trained into an existing folder, for a caller that makes a larger folder appear at once: an HF folder, or
  /// a PEFT folder of the adapters. `whole`: what parts().gather_all() of trained() gave on this rank. What it wrote.
  FileSums write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                       const HfSaveOptions& options = {}) const;

 private:
  at::Tensor for_head(const at::Tensor& hidden) const;

  Transformer(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts, const ModelParallel& parallel,
              NamedTensors parameters, Json config, Companions companions);

  std::shared_ptr<const ParameterShards> parts_;
  NamedTensors parameters_, trained_;
  Backbone backbone_;
  at::Tensor head_;
  std::shared_ptr<const Json> config_;
  std::shared_ptr<const Companions> companions_;  // of the folder it was loaded from
  std::filesystem::path base_{};                  // the folder of the model whose adapters these are
  NamedTensors kept_{};                           // its weights that are not this model's
};

}  // namespace roll
