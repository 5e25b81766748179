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
  /// Loads an HF folder, or a PEFT folder with adapters beside a model; weights are converted to `dtype`. Under
  /// `parallel`, loads this rank's part; its communicators must outlive the model. `lora`: adapters to train, as in
  /// with_adapters(). `base`: as in AdapterSource. UserError: a tensor is missing or wrong; tells what was expected and
  /// found.
  static Transformer load(const std::filesystem::path& folder, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat, const ModelParallel& parallel = {},
                          const Architectures& known = architectures(), const std::optional<LoraSpec>& lora = {},
                          const NamedTensors* base = nullptr);

  /// Returns the same tensors without adapters.
  Transformer without_adapters() const;
  /// Returns the same tensors for a run whose sequences have up to `longest` tokens, see for_length() in spec.h; after
  /// load() they are limited to the original context.
  Transformer for_length(int64_t longest) const;

  /// Makes random weights: normal with standard deviation 0.02, norms 1, biases 0. They depend on seed, parameter and
  /// index alone, so they are the same on every machine.
  static Transformer init(const ModelSpec& spec, uint64_t seed, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat);

  /// Makes this rank's part of a model without weights (ops/planned_tensors.h): it computes nothing, and its
  /// collectives are counted like a real model's.
  static Transformer planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel);

  const ModelSpec& spec() const { return backbone_.spec(); }
  at::Device device() const { return backbone_.device(); }
  at::ScalarType dtype() const { return backbone_.dtype(); }

  /// Leaf tensors that require gradients, under HF's names; a tied head appears once, as the embedding.
  /// Update them in place: the model holds the same tensors.
  NamedTensors& parameters() { return parameters_; }
  const NamedTensors& parameters() const { return parameters_; }
  /// The trained parameters: all, or the adapters.
  const NamedTensors& trained() const { return trained_; }

  Backbone& backbone() { return backbone_; }
  const Backbone& backbone() const { return backbone_; }
  const ModelParallel& parallel() const { return backbone_.parallel(); }
  /// Shards that this rank holds.
  const ParameterShards& parts() const { return *parts_; }

  /// Returns [S / tp, E] for the head: after the final norm, scaled as logits are, with autograd unless a NoGradGuard
  /// is held. Rows are the rank's slots of the layout, shared evenly by its tp ranks. `recompute` keeps only each
  /// layer's input and computes the layer again in backward; the gradient is the same to the bit. Undefined on pipeline
  /// stages before the last, see Backbone::forward(). **Collective** over cp, tp and stages.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute = {}) const {
    return for_head(backbone_.forward(layout, recompute));
  }
  /// Returns [T, E] for a model that one process holds.
  at::Tensor forward(const PackedTokens& tokens, const Recomputation& recompute = {}) const {
    return forward(lay_out(tokens, parallel()), recompute);
  }
  /// Returns [N, E] of new tokens for the head, see Backbone::extend().
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const {
    return for_head(backbone_.extend(tokens, cache));
  }

  /// [V, E]: this rank's rows of the lm head (the embedding when tied), in the model's dtype.
  at::Tensor head_weight() const { return head_.to(dtype()); }

  /// Returns logits: hidden [N, E] -> [N, V] float32, the same on every tp rank. For the sampler; training never holds
  /// full logits (log_probs.h). **Collective** over tp.
  at::Tensor logits(const at::Tensor& hidden) const;

  /// Gathers [N, this rank's rows of the vocabulary] -> [N, V], the same on every tp rank. **Collective** over tp.
  at::Tensor gather_vocabulary(const at::Tensor& local) const;

  /// Writes an HF folder that transformers opens, with adapters merged into the weights, and the source folder's
  /// companions.
  void save(const std::filesystem::path& folder, const HfSaveOptions& options = {}) const;
  /// Writes the trained weights into an existing folder, for a caller that publishes a larger folder at once: HF files,
  /// or PEFT files of the adapters. `whole`: result of parts().gather_all() of trained() on this rank. Returns the sums
  /// of the files.
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
  std::shared_ptr<const Companions> companions_;  // files of the source folder
  std::filesystem::path base_{};                  // folder of the base model, if these are adapters
  NamedTensors kept_{};                           // the folder's weights that this model does not use
};

}  // namespace roll
