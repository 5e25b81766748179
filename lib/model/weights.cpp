#include "model/weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"
#include "checkpoint/bitsandbytes.h"
#include "checkpoint/peft_folder.h"
#include "model/linear.h"
#include "ops/quantised.h"
#include "pipeline/stage.h"

namespace roll {

namespace {

constexpr const char* kMismatch =
    "config.json and the weights are of different models: fetch the folder again, or correct config.json";
constexpr double kLargestBf16 = 3.39e38;  // slightly larger numbers round to infinity

std::vector<std::string> parameter_names(const std::vector<ParameterShape>& wanted) {
  std::vector<std::string> names;
  for (const auto& parameter : wanted) names.push_back(parameter.name_in_folder());
  return names;
}

void check_nothing_unexpected(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                              const std::function<bool(const std::string&)>& may_ignore) {
  const std::vector<std::string> names = parameter_names(wanted);
  std::unordered_set<std::string> known(names.begin(), names.end());
  for (const ParameterShape& parameter : wanted)
    if (parameter.quantised && is_quantised(folder)) known.merge(bitsandbytes_names(parameter.name));
  for (const TensorEntry& entry : folder.entries())
    if (!known.contains(entry.name) && !may_ignore(entry.name) && !folder.is_unindexed(entry.name))
      throw user_error("{}: {} {}: config.json describes a model without this tensor; {}",
                       folder.tensor_file(entry.name), entry.name, shape_text(entry.shape), kMismatch);
}

void check_tensor(const HfFolder& folder, const ParameterShape& wanted) {
  if (wanted.quantised && is_quantised(folder))
    return check_bitsandbytes(folder, wanted.name, wanted.shape, *wanted.quantised);
  const TensorEntry* entry = folder.find(wanted.name);
  if (!entry)
    throw user_error("{}: {}: is missing; expected {} by config.json; {}", folder.path().string(), wanted.name,
                     shape_text(wanted.shape), kMismatch);
  if (is_quantised(folder) && !at::isFloatingType(entry->dtype))
    throw user_error("{}: {}: is quantised, but only linear layers may be; name it in llm_int8_skip_modules",
                     folder.tensor_file(wanted.name), wanted.name);
  if (entry->shape != wanted.shape)
    throw user_error("{}: {}: expected {} by config.json, found {}; {}", folder.tensor_file(wanted.name), wanted.name,
                     shape_text(wanted.shape), shape_text(entry->shape), kMismatch);
  if (!at::isFloatingType(entry->dtype) || at::elementSize(entry->dtype) < 2)
    throw user_error("{}: {}: dtype = {}: weights must be F32, BF16, F16 or F64", folder.tensor_file(wanted.name),
                     wanted.name, dtype_name(entry->dtype));
}

/// Reads a parameter from a folder's tensors.
template <class Folder>
at::Tensor read_parameter(const Folder& folder, const ParameterShape& parameter) {
  const FolderRows& fused = parameter.fused;
  at::Tensor stored = folder.read(parameter.name_in_folder());
  if (fused.name.empty()) return stored;
  if (fused.is_transposed) {
    const int64_t row_in_stack = fused.begin % (fused.rows / fused.stacked);
    const at::Tensor rows = stored[fused.begin / (fused.rows / fused.stacked)].transpose(0, 1);
    return rows.slice(0, row_in_stack, row_in_stack + parameter.shape[0] * fused.step, fused.step);
  }
  std::vector<int64_t> runs = parameter.shape;
  runs[0] = fused.rows;
  runs.insert(runs.begin(), fused.groups);
  const int64_t end = fused.begin + parameter.shape[0] / fused.groups * fused.step;
  return stored.reshape(runs).slice(1, fused.begin, end, fused.step).reshape(parameter.shape);
}

/// Returns this rank's shard of a whole tensor, as a copy: training must not write into pages of a file.
at::Tensor local_shard(const ParameterShards& parts, const std::string& name, const at::Tensor& whole,
                       const std::string& file, at::Device device, at::ScalarType dtype) {
  const at::Tensor local = parts.cut(name, whole);
  check_values(local, dtype, fmt::format("{}: {}", file, name));
  return local.to(device, dtype, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous);
}

at::Tensor init_parameter(const ParameterShape& wanted, uint64_t seed, uint32_t number) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (wanted.name.ends_with(".bias")) return at::zeros(wanted.shape, options);
  const bool is_constant = wanted.deviation < 0 ? wanted.shape.size() == 1 : wanted.deviation == 0;  // a norm, say
  if (is_constant) return at::full(wanted.shape, wanted.initial, options);
  const double deviation = wanted.deviation < 0 ? 0.02 : wanted.deviation;
  at::Tensor values = at::empty(wanted.shape, options);
  float* out = values.data_ptr<float>();
  at::parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = static_cast<float>(deviation * random_normal({.seed = seed,
                                                             .purpose = Purpose::kInit,
                                                             .step = number,
                                                             .sequence = static_cast<uint64_t>(i >> 32),
                                                             .position = static_cast<uint32_t>(i)}));
  });
  return values;
}

/// Makes a layer's experts contiguous on a device, where the products of one kind are one kernel
/// (ops/grouped_products.h).
void stack_experts(NamedTensors& parameters, const std::vector<ParameterShape>& wanted) {
  std::unordered_set<std::string_view> expert_names;
  for (const ParameterShape& parameter : wanted)
    if (parameter.expert) expert_names.insert(parameter.name);
  for (auto first = parameters.begin(); first != parameters.end();) {
    const auto is_other = [&](const auto& named) {
      return !expert_names.contains(named.first) || named.second.sizes() != first->second.sizes();
    };
    const auto end = std::find_if(first, parameters.end(), is_other);
    if (end == first || first->second.is_cpu()) {
      ++first;
      continue;
    }
    std::vector<int64_t> sizes = first->second.sizes().vec();
    sizes.insert(sizes.begin(), end - first);
    const at::Tensor all = at::empty(sizes, first->second.options().requires_grad(false));
    for (int64_t i = 0; first != end; ++first, ++i) {
      const bool is_trained = first->second.requires_grad();
      first->second = all[i].copy_(first->second.detach()).detach().requires_grad_(is_trained);
    }
  }
}

/// Returns float32 (float64 in a float64 model) for adapters and wide parameters, else the model's dtype.
at::ScalarType dtype_in(at::ScalarType model, const ParameterShape& parameter) {
  return parameter.is_adapter || parameter.is_wide ? at::promote_types(model, at::kFloat) : model;
}

/// Returns the quantised matrix: as the folder has it, or quantised from its weight.
QuantisedMatrix quantised_base(const HfFolder& folder, const ParameterShape& wanted, at::ScalarType dtype) {
  if (is_quantised(folder)) {
    if (!wanted.fused.name.empty())
      throw user_error(
          "{}: {}: roll cannot read linear layers that share a tensor and that bitsandbytes quantised; use the "
          "unquantised model instead",
          folder.tensor_file(wanted.fused.name), wanted.fused.name);
    return read_bitsandbytes(folder, wanted.name, wanted.shape, *wanted.quantised);
  }
  const at::Tensor whole = read_parameter(folder, wanted);
  check_values(whole, dtype, fmt::format("{}: {}", folder.tensor_file(wanted.name_in_folder()), wanted.name));
  return quantised(whole, *wanted.quantised);
}

at::Tensor frozen_matrix(const HfFolder& folder, const ParameterShape& wanted) {
  return wanted.quantised ? dequantised(quantised_base(folder, wanted, at::kFloat), at::kFloat)
                          : read_parameter(folder, wanted).to(at::kFloat);
}

/// Makes a new adapter: A uniform within 1 / sqrt(in), as in PEFT; B zeros; DoRA's magnitudes the norms of W's rows.
/// Modules trained whole get the values of `base`, or zeros if it has none.
at::Tensor new_adapter(const HfFolder& base, const std::vector<ParameterShape>& all, const ParameterShape& wanted,
                       uint64_t seed, uint32_t number) {
  const std::string& name = wanted.name;
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (name.ends_with(kLoraB)) return at::zeros(wanted.shape, options);
  if (name.ends_with(kMagnitude)) {
    const std::string weight = name.substr(0, name.rfind(kMagnitude)) + ".weight";
    return row_norms(frozen_matrix(base, *std::ranges::find(all, weight, &ParameterShape::name)),
                     /*columns=*/nullptr);
  }
  if (!name.ends_with(kLoraA)) {
    const std::string source = without_saved_infix(name);
    return base.find(source) ? base.read(source) : at::zeros(wanted.shape, options);
  }
  at::Tensor values = at::empty(wanted.shape, options);
  float* out = values.data_ptr<float>();
  const double bound = 1 / std::sqrt(static_cast<double>(wanted.shape[1]));
  for (int64_t i = 0; i < values.numel(); ++i)
    out[i] = static_cast<float>(bound * (2 * random_uniform({.seed = seed,
                                                             .purpose = Purpose::kAdapter,
                                                             .step = number,
                                                             .sequence = 0,
                                                             .position = static_cast<uint32_t>(i)}) -
                                         1));
  return values;
}

/// `wanted`: this rank's. Each rank checks its own adapters, so that all together compare the folder with the model.
void check_adapters(const PeftFolder& folder, const std::vector<ParameterShape>& wanted, const ParameterShards& parts) {
  std::unordered_set<std::string> known;
  for (const ParameterShape& parameter : in_folder(wanted)) {
    if (!parameter.is_adapter) continue;
    const TensorEntry* entry = folder.find(parameter.name);
    known.insert(without_saved_infix(parameter.name));
    if (!entry || entry->shape != parameter.shape)
      throw user_error("{}: {}: {}; expected {} by adapter_config.json and the model", folder.weights_file(),
                       parameter.name, entry ? "is " + shape_text(entry->shape) : "is missing",
                       shape_text(parameter.shape));
  }
  for (const std::string& name : folder.names())
    if (!known.contains(name) && !parts.is_elsewhere(name))
      throw user_error("{}: {}: adapter_config.json and the model have no such tensor", folder.weights_file(), name);
}

}  // namespace

void check_values(const at::Tensor& values, at::ScalarType dtype, const std::string& where) {
  if (values.numel() == 0) return;
  const auto [smallest, largest] = at::aminmax(values);
  const double most = std::max(std::abs(smallest.item<double>()), std::abs(largest.item<double>()));
  if (!std::isfinite(smallest.item<double>() + largest.item<double>()))
    throw user_error("{}: holds NaN or infinite values; use a checkpoint from before the training diverged", where);
  if (!std::isfinite(at::scalar_tensor(most, at::kDouble).to(dtype).item<double>()))
    throw user_error("{}: holds {:.6g}, which is infinite in {}; use {}", where, most,
                     dtype == at::kHalf       ? "fp16"
                     : dtype == at::kBFloat16 ? "bf16"
                                              : "fp32",
                     most < kLargestBf16 ? "bf16" : "fp32");
}

void check_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted) {
  for (const auto& parameter : in_folder(as_stored_in(folder, wanted)))
    if (!parameter.is_adapter) check_tensor(folder, parameter);
}

void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use) {
  const bool has_head = use == FolderUse::kGenerates || use == FolderUse::kComputesLogProbs;
  const bool needs_tokenizer = use == FolderUse::kGenerates || use == FolderUse::kScores;
  check_parameters(open_weights(folder, spec), has_head ? policy_parameters(spec) : backbone_parameters(spec));
  if (needs_tokenizer && !is_there(tokenizer_folder(folder) / "tokenizer.json"))
    throw user_error(
        "{}: the folder has no tokenizer.json; save it with its fast tokenizer (tokenizer.save_pretrained)",
        folder.string());
}

NamedTensors load_parameters(const HfFolder& folder, const std::vector<ParameterShape>& requested,
                             const ParameterShards& parts, const std::function<bool(const std::string&)>& may_ignore,
                             at::Device device, at::ScalarType dtype, const AdapterSource& adapters) {
  const std::vector<ParameterShape> wanted = as_stored_in(folder, requested);
  check_parameters(folder, wanted);
  std::optional<PeftFolder> peft;
  if (!adapters.folder.empty() && is_peft_folder(adapters.folder))
    check_adapters(peft.emplace(adapters.folder), wanted, parts);
  const bool has_adapters = std::ranges::any_of(wanted, &ParameterShape::is_adapter);
  NamedTensors parameters;
  for (const auto& parameter : wanted) {
    const std::string& name = parameter.name;
    if (adapters.base && !parameter.is_adapter) {
      for (const ParameterShape& stored : stored_shapes(parameter))
        parameters.emplace_back(stored.name, roll::parameter(*adapters.base, stored.name));
      continue;
    }
    if (parameter.quantised) {
      const QuantisedMatrix matrix = quantised_base(folder, parameter, dtype);
      for (const auto& [part, tensor] : {std::pair(name, matrix.codes), std::pair(name + kScales, matrix.scales)})
        parameters.emplace_back(part, parts.cut(part, tensor).to(device).clone(at::MemoryFormat::Contiguous));
      continue;
    }
    if (!parameter.is_adapter) {
      const std::string file = folder.tensor_file(parameter.name_in_folder());
      parameters.emplace_back(
          name, local_shard(parts, name, read_parameter(folder, parameter), file, device, dtype_in(dtype, parameter)));
      parameters.back().second.requires_grad_(!has_adapters && !parameter.is_constant);
      continue;
    }
    const auto number = static_cast<uint32_t>(parts.parameter_number(name));  // keys its random numbers
    const at::Tensor whole =
        peft ? read_parameter(*peft, parameter) : new_adapter(folder, wanted, parameter, adapters.seed, number);
    const std::string file = peft ? peft->weights_file() : "new adapters";
    parameters.emplace_back(name, local_shard(parts, name, whole, file, device, dtype_in(dtype, parameter)));
    parameters.back().second.requires_grad_(true);
  }
  check_nothing_unexpected(folder, wanted, may_ignore);
  if (!adapters.base) stack_experts(parameters, wanted);
  return parameters;
}

NamedTensors init_parameters(const std::vector<ParameterShape>& wanted, uint64_t seed, at::Device device,
                             at::ScalarType dtype) {
  NamedTensors parameters;
  for (size_t i = 0; i < wanted.size(); ++i)
    parameters.emplace_back(wanted[i].name, init_parameter(wanted[i], seed, static_cast<uint32_t>(i))
                                                .to(device, dtype_in(dtype, wanted[i]))
                                                .requires_grad_(!wanted[i].is_constant));
  stack_experts(parameters, wanted);
  return parameters;
}

NamedTensors planned_parameters(const std::vector<ParameterShape>& wanted, const ParameterShards& parts,
                                at::ScalarType dtype) {
  NamedTensors parameters;
  const bool has_adapters = std::ranges::any_of(wanted, &ParameterShape::is_adapter);
  const auto add = [&](const ParameterShape& stored, at::ScalarType stored_dtype) {
    const at::Tensor whole = at::empty(stored.shape, at::TensorOptions(at::kMeta).dtype(stored_dtype));
    parameters.emplace_back(stored.name, parts.cut(stored.name, whole).clone(at::MemoryFormat::Contiguous));
  };
  for (const ParameterShape& parameter : wanted) {
    if (parameter.quantised) {
      const std::vector<ParameterShape> stored = stored_shapes(parameter);
      add(stored[0], parameter.quantised == Quantisation::kInt8 ? at::kChar : at::kByte);
      add(stored[1], at::kFloat);
      continue;
    }
    add(parameter, dtype_in(dtype, parameter));
    parameters.back().second.requires_grad_(parameter.is_adapter || !(has_adapters || parameter.is_constant));
  }
  return parameters;
}

ParameterIndex::ParameterIndex(const NamedTensors& parameters) {
  for (const auto& [name, tensor] : parameters) tensors_by_name_.emplace(name, &tensor);
}

const at::Tensor& ParameterIndex::operator[](const std::string& name) const {
  const auto found = tensors_by_name_.find(name);
  ROLL_CHECK(found != tensors_by_name_.end(), fmt::format("parameter {} was made by the spec", name));
  return *found->second;
}

const at::Tensor& parameter(const NamedTensors& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const auto& named) { return named.first == name; });
  ROLL_CHECK(found != parameters.end(), fmt::format("parameter {} was made by the spec", name));
  return found->second;
}

const at::Tensor& trained_copy(const NamedTensors& parameters, const std::string& module) {
  const auto found = std::ranges::find(parameters, module + kSavedInfix + ".weight", &NamedTensors::value_type::first);
  return found == parameters.end() ? parameter(parameters, module + ".weight") : found->second;
}

NamedTensors select_parameters(const NamedTensors& parameters, const std::vector<ParameterShape>& trained) {
  const ParameterIndex all(parameters);
  NamedTensors selected;
  for (const ParameterShape& shape : trained)
    for (const ParameterShape& stored : stored_shapes(shape)) selected.emplace_back(stored.name, all[stored.name]);
  return selected;
}

std::vector<ParameterShape> held_by(const std::vector<ParameterShape>& parameters, const ModelParallel& parallel) {
  if (!parallel.stage) return held_by(parameters, parallel.ep_rank(), parallel.ep_size());
  std::vector<ParameterShape> stage_parameters;
  std::ranges::copy_if(parameters, std::back_inserter(stage_parameters),
                       [&stage = *parallel.stage](const ParameterShape& p) {
                         return stage.has(p.layer) || (p.is_at_both_ends && stage.is_last());
                       });
  return held_by(stage_parameters, parallel.ep_rank(), parallel.ep_size());
}

}  // namespace roll
