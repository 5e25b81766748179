// The value model (critic, or reward model) on this rank: the language model's backbone with a scalar head instead of
// the lm head. On disk it is HF's class with one label per token (Qwen2ForTokenClassification), with a head of weight
// [1, E] and bias [1]. Functions without a comment are like Transformer's (transformer.h).
// Legend: T packed tokens, N rows, E hidden size.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>

#include "checkpoint/hf_folder.h"
#include "model/backbone.h"
#include "model/folder_form.h"
#include "model/packed.h"
#include "model/parameter_shards.h"
#include "model/token_layout.h"
#include "ops/recomputation.h"

namespace roll {

/// Returns values, hidden weight^T + bias: hidden [N, E], weight [1, E], bias [1] -> [N] float32 (float64 for float64).
/// It computes in float32 even for 16-bit inputs, because a 16-bit value would have only 3 digits.
at::Tensor compute_values(const at::Tensor& hidden, const at::Tensor& weight, const at::Tensor& bias);

/// Throws UserError if the folder's weights have no value head, so that ValueModel::load() would make a new one.
void require_value_head(const std::filesystem::path& folder);

class ValueModel {
 public:
  /// Loads a saved value model, or a language model's folder, whose lm head it replaces by a new value head of zeros.
  /// The first values are then 0, and the first advantages are the returns. Parameters and errors are those of
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

  /// All tensors of this rank, with the value head; see Transformer::parameters().
  NamedTensors& parameters() { return parameters_; }
  const NamedTensors& parameters() const { return parameters_; }
  /// The trained tensors: the adapters and the value head if there are adapters, else all.
  const NamedTensors& trained() const { return trained_; }

  /// Returns [T] float32 (float64 for a float64 model). Index t has the value of the state after token t and before
  /// token t + 1, also for the last token of a sequence. Differentiable unless a NoGradGuard is held. `recompute`: see
  /// Transformer::forward(). Ranks of cp, tp and stages pass the same whole batch and get all values, except on
  /// pipeline stages before the last, where the result is undefined. **Collective** over cp, tp, ep and stages.
  at::Tensor values(const PackedTokens& tokens, const Recomputation& recompute = {}) const;

  /// Like Transformer::save().
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
  std::filesystem::path base_{};                  // folder with the base model's weights
  FolderForm form_{};
};

}  // namespace roll
