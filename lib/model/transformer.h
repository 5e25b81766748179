// The causal language model on this rank: loads and saves HF folders, and computes hidden states and logits. The same
// tensors serve training (autograd) and sampling (KV cache). Function token_log_probs() (log_probs.h) computes
// log-probs with it.
// Legend: T packed tokens, S slots of a context rank (token_layout.h), N new tokens in sampling, E hidden size, V
// vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

#include "checkpoint/hf_folder.h"
#include "model/backbone.h"
#include "model/folder_form.h"
#include "model/packed.h"
#include "model/parameter_shards.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

/// A copy shares all tensors with the original.
class Transformer {
 public:
  /// Loads an HF folder, or a PEFT folder with adapters for the model of another folder; converts weights to `dtype`.
  /// Loads this rank's part under `parallel`, whose communicators must outlive the model; every rank reads the folder.
  /// `known`: supported architectures. `lora`: adapters that the model must have; it gets the folder's, or new ones if
  /// the folder has none. Null: it has adapters only if the folder does. `base`: parameters() of a loaded model with
  /// the same base weights, layout and dtype, whose frozen tensors this model shares; null: loads its own. trains_mtp:
  /// the parameters include the MTP head's (with_mtp() in mtp.h). Throws UserError if a tensor is missing or has
  /// another shape or dtype.
  static Transformer load(const std::filesystem::path& folder, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat, const ModelParallel& parallel = {},
                          const Architectures& known = architectures(), const std::optional<LoraSpec>& lora = {},
                          const NamedTensors* base = nullptr, bool trains_mtp = false);

  /// Returns the base model: the same tensors without adapters. It is not to be trained; its trained() is empty.
  Transformer without_adapters() const;
  /// Returns the model with the same tensors for a run whose sequences have up to `longest` tokens. It differs only for
  /// LongRoPE models, which load() limits to the original context (see for_length() in spec.h).
  Transformer for_length(int64_t longest) const;

  /// Makes a whole model with random weights, see init_parameters() in weights.h; the same on every machine.
  static Transformer init(const ModelSpec& spec, uint64_t seed, at::Device device = at::kCPU,
                          at::ScalarType dtype = at::kFloat);

  /// Makes this rank's part of a model without data: it computes only shapes. Forecasts of the communication between
  /// ranks (ops/planned_tensors.h) count its collectives, which are those of a real model.
  static Transformer planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel);

  const ModelSpec& spec() const { return backbone_.spec(); }
  at::Device device() const { return backbone_.device(); }
  at::ScalarType dtype() const { return backbone_.dtype(); }

  /// All tensors of this rank, adapters included, under HF's (and PEFT's) names; a tied head appears once, as the
  /// embedding. Trained ones are leaf tensors that require gradients. Update them in place: the model holds the same.
  NamedTensors& parameters() { return parameters_; }
  const NamedTensors& parameters() const { return parameters_; }
  /// The trained tensors among parameters(): the adapters if there are any, else all; none after without_adapters().
  const NamedTensors& trained() const { return trained_; }

  Backbone& backbone() { return backbone_; }
  const Backbone& backbone() const { return backbone_; }
  const ModelParallel& parallel() const { return backbone_.parallel(); }
  /// Describes the shards that this rank holds.
  const ParameterShards& parts() const { return *parts_; }

  /// Returns the input of the lm head, [S / tp, E]: the hidden states after the final norm, times the logits' scale.
  /// Rows are the context rank's slots; each tensor rank has an equal consecutive part. Differentiable unless
  /// a NoGradGuard is held. `recompute`: layers that keep only their input and are computed again in backward; the
  /// gradient is the same to the bit. Undefined on pipeline stages before the last. **Collective** over cp, tp, ep and
  /// stages.
  at::Tensor forward(const TokenLayout& layout, const Recomputation& recompute = {}) const {
    return for_head(backbone_.forward(layout, recompute));
  }
  /// The same for a batch without layout, for a model that one process holds: [T, E].
  at::Tensor forward(const PackedTokens& tokens, const Recomputation& recompute = {}) const {
    return forward(lay_out(tokens, parallel()), recompute);
  }
  /// Returns the input of the lm head for N new tokens, [N, E], on every tensor rank, and adds them to the KV cache.
  /// For sampling without gradients, by a model without pipeline stages and expert ranks. **Collective** over tp.
  at::Tensor extend(const CachedTokens& tokens, const KvRows& cache) const {
    return for_head(backbone_.extend(tokens, cache));
  }

  /// Returns this rank's rows of the lm head [V, E] (the embedding if it is tied), in the model's dtype. Call it only
  /// on a pipeline's last stage.
  at::Tensor head_weight() const { return head_.to(dtype()); }

  /// Returns logits: hidden [N, E] from extend() -> [N, V] float32, the same on every tensor rank. For the sampler;
  /// training never holds full logits (log_probs.h). **Collective** over tp.
  at::Tensor logits(const at::Tensor& hidden) const;

  /// Joins the logits of all tensor ranks: local [N, this rank's rows of the lm head] -> [N, V] on every tensor rank.
  /// **Collective** over tp.
  at::Tensor gather_vocabulary(const at::Tensor& local) const;

  /// Writes a new HF folder that transformers opens, with adapters merged into the weights, and the tokenizer files of
  /// the folder that was loaded. For a model that one process holds whole.
  void save(const std::filesystem::path& folder, const HfSaveOptions& options = {}) const;
  /// Writes the files of a model into an existing folder: PEFT files if there are adapters, else HF files. Called by
  /// one rank only. `whole`: all trained tensors of the model, from parts().gather_all(trained(), keep), with `keep`
  /// true on this rank and false on others. Returns the checksums of the files. The writer of checkpoints (run/saver.h)
  /// calls it for a new folder, which is renamed when it is complete.
  FileSums write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                       const HfSaveOptions& options = {}) const;

 private:
  at::Tensor for_head(const at::Tensor& hidden) const;  // times the logits' scale

  Transformer(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts, const ModelParallel& parallel,
              NamedTensors parameters, Json config, Companions companions);

  std::shared_ptr<const ParameterShards> parts_;
  NamedTensors parameters_, trained_;
  Backbone backbone_;
  at::Tensor head_;  // this rank's rows; undefined on pipeline stages before the last
  std::shared_ptr<const Json> config_;
  std::shared_ptr<const Companions> companions_;  // files of the source folder
  std::filesystem::path base_{};                  // folder with the base model's weights
  FolderForm form_{};
};

}  // namespace roll
