// The critic: the same backbone with a scalar head instead of the lm head.
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

/// hidden [N, E], weight [1, E], bias [1] -> [N] float32 (float64 for float64): the product is made in float32 also
/// where the model computes in 16 bits, which would leave a value 3 digits.
at::Tensor values_of(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias);

/// UserError: the folder's weights have no such head, so that its values would be those of a new one.
void require_value_head(const std::filesystem::path& folder);

class ValueModel {
 public:
  /// From a saved value model, or from a causal language model's folder, whose lm head is left out and replaced by a
  /// new head: zeros, so that the first values are 0 and the first advantages are the returns. `lora`, `base`: as in
  /// Transformer::load(), and AdapterSource.
  static ValueModel load(const std::filesystem::path& folder, at::Device device = at::kCPU,
                         at::ScalarType dtype = at::kFloat, const ModelParallel& parallel = {},
                         const Architectures& known = architectures(), const std::optional<LoraSpec>& lora = {},
                         const NamedTensors* base = nullptr);

  /// As Transformer::for_length.
  ValueModel for_length(int64_t longest) const;

  /// As Transformer::planned.
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
  /// As Transformer's: with adapters goes the head.
  const NamedTensors& trained() const { return trained_; }

  /// [T] float32 (float64 for a float64 model): the value of the state after token t, which is before token t + 1. With
  /// autograd unless a NoGradGuard is held; every index holds a value, the last of a sequence too.
  /// All ranks that share the model get all values, but of a pipeline's stages only the last; on others: undefined.
  /// **Collective** over cp, tp and stages.
  at::Tensor values(const PackedTokens& tokens, const Recomputation& recompute = {}) const;

  void save(const std::filesystem::path& folder, const HfSaveOptions& options = {}) const;
  /// See Transformer::write_files.
  FileSums write_files(const std::filesystem::path& folder, const NamedTensors& whole,
                       const HfSaveOptions& options = {}) const;

 private:
  ValueModel(const ModelSpec& spec, std::shared_ptr<const ParameterShards> parts, const ModelParallel& parallel,
             NamedTensors parameters, Json config, Companions companions);

  std::shared_ptr<const ParameterShards> parts_;
  NamedTensors parameters_, trained_;
  Backbone backbone_;
  at::Tensor head_weight_, head_bias_;  // [1, E], [1]; of a pipeline's last stage
  std::shared_ptr<const Json> config_;
  std::shared_ptr<const Companions> companions_;  // of the folder it was loaded from
  std::filesystem::path base_{};                  // the folder of the model whose adapters these are
  NamedTensors kept_{};                           // its weights that are not this model's
};

}  // namespace roll
