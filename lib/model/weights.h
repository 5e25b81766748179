// Reads a model folder's tensors as the parameters of a spec, makes new parameters, and converts them back for writing.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "checkpoint/hf_folder.h"
#include "model/parameter_shards.h"
#include "model/spec.h"
#include "model/token_layout.h"

namespace roll {

/// Source of adapters: the folder, if it is PEFT's; else new ones, with which a model computes as without. `base`:
/// loaded frozen tensors of the same base, layout and dtype, to be shared; null: none.
struct AdapterSource {
  std::filesystem::path folder{};
  uint64_t seed = 0;
  const NamedTensors* base = nullptr;
};

/// Reads this rank's shard of each of `wanted` (in that order), converted to `dtype` on `device`, as leaf tensors;
/// adapters are float32 (float64 in a float64 model). Adapters alone require gradients if there are any, else all
/// trained tensors do. Every other tensor of the folder must satisfy `may_ignore`. UserError: a tensor is missing,
/// unexpected, of another shape or not floating, or fails check_values().
NamedTensors load_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                             const ParameterShards& parts,
                             const std::function<bool(const std::string& name)>& may_ignore, at::Device device,
                             at::ScalarType dtype, const AdapterSource& adapters = {});

/// Opens the folder's weights, or those of its adapters' model, under the spec's names. A tied model's folder may hold
/// the head alone, which is then read as the embedding; a head that adapters untie is read from the embedding.
/// UserError: as HfFolder::open().
HfFolder open_weights(const std::filesystem::path& folder, const ModelSpec& spec);

/// Checks file headers like load_parameters(), before any value is read. UserError: a tensor is missing, of another
/// shape or not floating.
void check_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted);

/// Contents of a model folder that a run needs.
enum class FolderUse {
  kWrites,      // all weights, and a tokenizer
  kForwards,    // all weights
  kReads,       // the weights below the head, and a tokenizer
  kGivesValues  // the weights below the head, which a language model's folder has too
};

/// Checks that the folder has what `use` needs, by names, sizes and headers. UserError: as HfFolder::open() and
/// check_parameters(), or no tokenizer.json.
void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use);

/// Checks a CPU tensor. UserError "where: ...": it holds NaN or infinite values, or some that are infinite in `dtype`.
void check_values(const at::Tensor& values, at::ScalarType dtype, const std::string& where);

/// Makes new parameters: normal with standard deviation 0.02 for matrices, 1 for norms, 0 for biases, or as a
/// TensorShape says. Elements depend on seed, parameter and index alone, so that devices, dtypes and machines agree.
NamedTensors init_parameters(const std::vector<ParameterShape>& wanted, uint64_t seed, at::Device device,
                             at::ScalarType dtype);

/// Returns tensors as a folder holds them: parts of a fused tensor are joined.
NamedTensors fused_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors);

/// Returns the names of parameters that stay float32 in 16-bit models.
std::set<std::string> wide_names(const std::vector<ParameterShape>& parameters);

/// A model's tensors as a folder holds them. Wide parameters and other parts' tensors are in `kept`: they keep their
/// dtype.
struct FolderTensors {
  NamedTensors weights, kept;
};
FolderTensors folder_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors,
                             const NamedTensors& kept);

/// Returns this rank's shard of each parameter, without data.
NamedTensors planned_parameters(const std::vector<ParameterShape>& wanted, const ParameterShards& parts,
                                at::ScalarType dtype);

/// Index for many look-ups by name; the list of tensors must outlive it.
class ParameterIndex {
 public:
  ParameterIndex(const NamedTensors& parameters);  // NOLINT: any list can be looked into
  /// Returns the tensor of that name. Bug: there is none.
  const at::Tensor& operator[](const std::string& name) const;

 private:
  std::unordered_map<std::string_view, const at::Tensor*> tensors_by_name_;
};

/// Returns the tensor of that name. Bug: there is none.
const at::Tensor& parameter(const NamedTensors& parameters, const std::string& name);

/// Returns the module's weight: the copy that adapters are trained with, if there is one.
const at::Tensor& trained_copy(const NamedTensors& parameters, const std::string& module);
/// Returns the tensors of the `trained` parameters, in that order.
NamedTensors select_parameters(const NamedTensors& parameters, const std::vector<ParameterShape>& trained);

/// Returns the parameters that this rank holds under expert and pipeline parallelism.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, const ModelParallel& parallel);

/// Reads the folder's tensors of parts that such a model does not compute (Architecture::kept), as they are stored.
/// They include keys and values of layers that read those of others.
NamedTensors kept_tensors(const HfFolder& folder, const ModelSpec& spec);
bool is_kept(const ModelSpec& spec, const std::string& name);

/// True for buffers that old checkpoints carry and that follow from config.json.
bool is_derived_buffer(const std::string& name);

}  // namespace roll
