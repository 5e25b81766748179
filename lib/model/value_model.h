// The critic: the language model's backbone with a scalar head instead of the lm head.
// On disk it is HF's class with one label per token (Qwen2ForTokenClassification), a head of weight [1, E] and bias
// [1].
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

#include "checkpoint/hf_folder.h"
#include "model/backbone.h"
#include "model/packed.h"
#include "model/parameter_shards.h"
#include "model/token_layout.h"
#include "ops/recomputation.h"

namespace roll {

/// Returns values: hidden [N, E], weight [1, E], bias [1] -> [N] float32 (float64 for float64). The product is float32
/// even in 16-bit models, whose dtype would leave a value 3 digits.
at::Tensor compute_values(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias);

/// Checks a folder. UserError: its weights have no value head, so that its values would be those of a new one.
void require_value_head(const std::filesystem::path& folder);

class ValueModel {
 public:
  /// Loads a saved value model, or a causal language model's folder, whose lm head is replaced by a new value head:
  /// zeros, so that the first values are 0 and the first advantages are the returns. `lora`, `base`: as in
  /// Transformer::load().
  static ValueModel load(const std::filesystem::path& folder, at::Device device = at::kCPU,
                         at::ScalarType dtype = at::kFloat, const ModelParallel& parallel = {},
                         const Architectures& known = architectures(), const std::optional<LoraSpec>& lora = {},
                         const NamedTensors* base = nullptr);

  /// Like Transformer::for_length().
  ValueModel for_length(int64_t longest) const;

  /// Like Transformer::planned().
  static ValueModel planned(const ModelSpec& spec, at::ScalarType dtype, const ModelParallel& parallel);

  const ModelSpec& spec() const { return backbone_.spec(); }
  at::Device device() const { return backbone_.device(); }

  const ModelParallel& parallel() const { return backbone_.parallel(); }
  const ParameterShards& parts() const { return *parts_; }
  Backbone& backbone() { return backbone_; }
  const Backbone& backbone() const { return backbone_; }

  /// Leaf tensors that require gradients; update them in place.
  NamedTensors& parameters() { return parameters_; }
  const NamedTensors& parameters() const { return parameters_; }
  /// Like Transformer's, with the value head.
  const NamedTensors& trained() const { return trained_; }

  /// Returns [T] float32 (float64 for a float64 model): the value of the state after token t, before token t + 1. Every
  /// index holds a value, also the last of a sequence. With autograd unless a NoGradGuard is held.
  /// All ranks of the model get all values; of a pipeline's stages only the last does, on others the result is
  /// undefined. **Collective** over cp, tp and stages.
  at::Tensor values(const PackedTokens& tokens, const Recomputation& recompute = {}) const;

  void save(const std::filesystem::path& folder, const HfSaveOptions& options = {}) const;
  /// Like Transformer::write_files().
  FileSums write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                       const HfSaveOptions& options = {}) const;

 private:
  ValueModel(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts, const ModelParallel& parallel,
             NamedTensors parameters, Json config, Companions companions);

  std::shared_ptr<const ParameterShards> parts_;
  NamedTensors parameters_, trained_;
  Backbone backbone_;
  at::Tensor head_weight_, head_bias_;  // on a pipeline's last stage
  std::shared_ptr<const Json> config_;
  std::shared_ptr<const Companions> companions_;  // files of the source folder
  std::filesystem::path base_{};                  // folder of the base model, if these are adapters
  NamedTensors kept_{};                           // the folder's weights that this model does not use
};

}  // namespace roll
