// Reads a model folder's tensors as the parameters of a spec (ParameterShape lists of spec.h), makes new parameters,
// and converts parameters to a folder's tensors for writing. NamedTensors is a list of (name, tensor).
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/hf_folder.h"
#include "model/folder_form.h"
#include "model/parameter_shards.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

/// Source of adapters, and of the frozen weights beside them.
struct AdapterSource {
  std::filesystem::path folder{};  // a PEFT folder with the adapters; any other (or empty): new adapters, whose B is 0
  uint64_t seed = 0;               // for new adapters
  // Parameters of a loaded model with the same base weights, layout and dtype, whose frozen tensors are shared; null:
  // they are read from the folder.
  const NamedTensors* base = nullptr;
};

/// Reads this rank's shard of each of `wanted` (in that order), as leaf tensors of type `dtype` on `device`; adapters
/// and is_wide parameters are float32 (float64 if `dtype` is). If there are adapters, only they require gradients, else
/// all but constants do. `wanted`: parameters that this rank holds; `parts`: shards of all parameters of the model.
/// `may_ignore`: returns true for names of other tensors that the folder may have. Throws UserError if a tensor is
/// missing, unexpected, of another shape or not floating-point, or fails check_values().
NamedTensors load_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                             const ParameterShards& parts,
                             const std::function<bool(const std::string& name)>& may_ignore, at::Device device,
                             at::ScalarType dtype, const AdapterSource& adapters = {});

/// Opens an HF folder, or a PEFT folder's base model, with the names of Architecture::other_prefixes changed to roll's.
HfFolder open_renamed(const std::filesystem::path& folder, const Architecture& architecture);

/// Opens the weights of an HF folder, or of a PEFT folder's base model, under the spec's names. If a tied model's
/// folder has only the head, it is read as the embedding. If the spec's head is untied (unties_head) and the folder has
/// none, the embedding is read as the head. Throws UserError like HfFolder::open(), such as for missing files.
HfFolder open_weights(const std::filesystem::path& folder, const ModelSpec& spec);

/// Returns the parameters as the folder has them. It may store the parts of a fused tensor by themselves, under their
/// own names (experts, as transformers writes them), or stacks transposed.
std::vector<ParameterShape> as_stored_in(const HfFolder& folder, std::vector<ParameterShape> wanted);

/// Checks the headers of a folder's files, without reading values: throws UserError if one of `wanted` that is not an
/// adapter is missing, has another shape or is not floating-point.
void check_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted);

/// Use of a model in a run, which decides on the contents that its folder must have.
enum class FolderUse {
  kGenerates,         // a policy, or a judge that writes text: all weights, and a tokenizer
  kComputesLogProbs,  // a reference or teacher: all weights
  kScores,            // a judge with a value head: all weights but the lm head, and a tokenizer
  kComputesValues     // a critic: all weights but the lm head
};

/// Checks that the folder has the contents for `use`, by file names and headers. Throws UserError if it lacks
/// something, like open_weights() and check_parameters().
void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use);

/// Throws UserError "where: ..." if the CPU tensor holds NaN or infinite values, or values that are infinite in
/// `dtype`.
void check_values(const at::Tensor& values, at::ScalarType dtype, const std::string& where);

/// Makes new whole parameters, with dtypes as in load_parameters(): matrices normal with standard deviation 0.02, norms
/// at ParameterShape::initial, biases 0; those with deviation >= 0 as it says. An element depends only on the seed, the
/// parameter's index in `wanted` and the element's index, so that devices and machines agree.
NamedTensors init_parameters(const std::vector<ParameterShape>& wanted, uint64_t seed, at::Device device,
                             at::ScalarType dtype);

/// Returns whole tensors under a folder's names, with those that the folder fuses (ParameterShape::fused) joined.
/// `parameters`: at least the parameters in `tensors`.
NamedTensors fused_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors);

/// Returns the names of the parameters with is_wide, which stay float32 in 16-bit models.
std::set<std::string> wide_names(const std::vector<ParameterShape>& parameters);

/// The tensors to write to a folder, under its names.
struct FolderTensors {
  NamedTensors weights;  // may be converted to the folder's dtype
  NamedTensors kept;     // keep their dtype
};
/// Returns fused_tensors() in the given form, with is_wide parameters and the form's `kept` in `kept`.
FolderTensors folder_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors,
                             const FolderForm& form);

/// Returns tensors without data (meta tensors) for this rank's shards, with the dtypes and requires_grad of
/// load_parameters(); for forecasts.
NamedTensors planned_parameters(const std::vector<ParameterShape>& wanted, const ParameterShards& parts,
                                at::ScalarType dtype);

/// Index for many look-ups by name; the list of tensors must outlive it.
class ParameterIndex {
 public:
  ParameterIndex(const NamedTensors& parameters);  // NOLINT: any list can be looked into
  /// Returns the tensor of that name. Throws Bug if there is none.
  const at::Tensor& operator[](const std::string& name) const;

 private:
  std::unordered_map<std::string_view, const at::Tensor*> tensors_by_name_;
};

/// Returns the tensor of that name, by a linear search. Throws Bug if there is none.
const at::Tensor& parameter(const NamedTensors& parameters, const std::string& name);

/// Returns the weight of `module`, such as "lm_head"; if PEFT's modules_to_save made a trained copy, that copy. Throws
/// Bug if there is neither.
const at::Tensor& trained_copy(const NamedTensors& parameters, const std::string& module);
/// Returns the tensors of the `trained` parameters, in that order; a quantised parameter gives two.
NamedTensors select_parameters(const NamedTensors& parameters, const std::vector<ParameterShape>& trained);

/// Selects the parameters that this rank holds (whole or a shard) under expert and pipeline parallelism.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, const ModelParallel& parallel);

/// Returns the form of a folder from open_weights(). Its `kept` are, as they are stored, the tensors that the model
/// does not compute with but saves again: other models' (Architecture::kept), multi-token-prediction layers, and k and
/// v weights of layers that compute no keys and values.
FolderForm folder_form(const HfFolder& folder, const ModelSpec& spec);
/// True if the tensor with this name is among FolderForm::kept.
bool is_kept(const ModelSpec& spec, const std::string& name);

/// True for names of buffers that old checkpoints contain although config.json determines them: they are not read.
bool is_derived_buffer(const std::string& name);

}  // namespace roll
