// Between a model folder's tensors and the parameters that a spec asks for.
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

/// Where adapters come from: the folder, where it is PEFT's, or they are new ones, with which a model computes as
/// without. `base`: frozen tensors of the same base, layout and dtype that are here already, and shared; null: none.
struct AdapterSource {
  std::filesystem::path folder{};
  uint64_t seed = 0;
  const NamedTensors* base = nullptr;
};

/// Reads this rank's part of each of `wanted` (in that order), converted to `dtype` on `device`, as leaf tensors;
/// adapters are float32, of a float64 model float64. All that is trained requires gradients: where there are adapters,
/// these. Every other tensor of the folder must satisfy `may_ignore`. UserError: missing, wrong shape, not floating,
/// unexpected, check_values().
NamedTensors load_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                             const ParameterShards& parts,
                             const std::function<bool(const std::string& name)>& may_ignore, at::Device device,
                             at::ScalarType dtype, const AdapterSource& adapters = {});

/// The folder's weights, or those of its adapters' model, under the names that `spec` has: a tied model's folder may
/// hold the head alone, which then is its embedding, and the head of a model that adapters untie is the embedding of
/// its folder. UserError: HfFolder::open()'s.
HfFolder open_weights(const std::filesystem::path& folder, const ModelSpec& spec);

/// What load_parameters() asks of the model's files' headers, before any value is read. UserError: missing, wrong
/// shape, not floating.
void check_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted);

/// What a run will ask of a model's folder.
enum class FolderUse {
  kWrites,      // all weights, and a tokenizer
  kForwards,    // all weights
  kReads,       // the weights below the head, and a tokenizer
  kGivesValues  // the weights below the head, which a language model's folder has too
};

/// Whether the folder holds that, as far as names, sizes and headers show. UserError: HfFolder::open()'s, those of
/// check_parameters(), no tokenizer.json.
void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use);

/// UserError "where: ...": the CPU tensor holds NaN or infinite values, or some that are infinite in `dtype`.
void check_values(const at::Tensor& values, at::ScalarType dtype, const std::string& where);

/// Normal with standard deviation 0.02 for matrices, 1 for norms, 0 for biases, what a TensorShape says. Each number is
/// named by seed, parameter and index, so that devices, dtypes and machines agree.
NamedTensors init_parameters(const std::vector<ParameterShape>& wanted, uint64_t seed, at::Device device,
                             at::ScalarType dtype);

/// What a folder holds of tensors: parts that are one tensor there are put together.
NamedTensors fused_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors);

/// Those that stay float32 where others have 16 bits.
std::set<std::string> wide_names(const std::vector<ParameterShape>& parameters);

/// What a folder has of a model: the same, of which wide ones, and the `kept` of other parts, stay in their dtype.
struct FolderTensors {
  NamedTensors weights, kept;
};
FolderTensors folder_tensors(const std::vector<ParameterShape>& parameters, const NamedTensors& tensors,
                             const NamedTensors& kept);

/// This rank's part of each parameter, without data.
NamedTensors planned_parameters(const std::vector<ParameterShape>& wanted, const ParameterShards& parts,
                                at::ScalarType dtype);

/// Of many look-ups by name; the tensors' own list must outlive it.
class ParameterIndex {
 public:
  ParameterIndex(const NamedTensors& parameters);  // NOLINT: any list can be looked into
  /// Bug when there is none.
  const at::Tensor& operator[](const std::string& name) const;

 private:
  std::unordered_map<std::string_view, const at::Tensor*> places_;
};

/// The tensor of that name; Bug when there is none.
const at::Tensor& parameter(const NamedTensors& parameters, const std::string& name);

/// The weight of that module: the copy that adapters are trained with, where there is one.
const at::Tensor& trained_copy(const NamedTensors& parameters, const std::string& module);
/// Those of them that are `trained`, in that order.
NamedTensors parameters_of(const NamedTensors& parameters, const std::vector<ParameterShape>& trained);

/// held_by() of this rank of those that share experts, and layers.
std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, const ModelParallel& parallel);

/// A folder's tensors of parts that such a model does not compute (Architecture::kept), as they are stored.
/// Among them keys and values of layers that read those of others.
NamedTensors kept_tensors(const HfFolder& folder, const ModelSpec& spec);
bool is_kept(const ModelSpec& spec, const std::string& name);

/// Buffers that old checkpoints carry and that follow from config.json.
bool is_derived_buffer(const std::string& name);

}  // namespace roll
