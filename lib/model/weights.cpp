#include "model/weights.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "base/file.h"
#include "base/random.h"

namespace roll {

namespace {

constexpr const char* kMismatch =
    "config.json and the weights are of different models: fetch the folder again, or correct config.json";
constexpr double kLargestBf16 = 3.39e38;  // a little more is rounded to infinity

std::vector<std::string> names_of(const std::vector<ParameterShape>& wanted) {
  std::vector<std::string> names;
  for (const auto& parameter : wanted) names.push_back(parameter.name);
  return names;
}

void check_nothing_unexpected(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                              const std::function<bool(const std::string&)>& may_ignore) {
  const std::vector<std::string> names = names_of(wanted);
  const std::unordered_set<std::string> known(names.begin(), names.end());
  for (const TensorEntry& entry : folder.entries())
    if (!known.contains(entry.name) && !may_ignore(entry.name))
      throw user_error("{}: {} {}: config.json describes a model without this tensor; {}", folder.file_of(entry.name),
                       entry.name, shape_text(entry.shape), kMismatch);
}

void check_one(const HfFolder& folder, const ParameterShape& wanted) {
  const TensorEntry* entry = folder.find(wanted.name);
  if (!entry)
    throw user_error("{}: {}: is missing; expected {} by config.json; {}", folder.path().string(), wanted.name,
                     shape_text(wanted.shape), kMismatch);
  if (entry->shape != wanted.shape)
    throw user_error("{}: {}: expected {} by config.json, found {}; {}", folder.file_of(wanted.name), wanted.name,
                     shape_text(wanted.shape), shape_text(entry->shape), kMismatch);
  if (!at::isFloatingType(entry->dtype) || at::elementSize(entry->dtype) < 2)
    throw user_error("{}: {}: dtype = {}: weights must be F32, BF16, F16 or F64", folder.file_of(wanted.name),
                     wanted.name, dtype_name(entry->dtype));
}

at::Tensor load_one(const HfFolder& folder, const ParameterShape& wanted, const ParameterShards& parts,
                    at::Device device, at::ScalarType dtype) {
  // Always a copy: training must not write into pages of the file.
  const at::Tensor own = parts.cut(wanted.name, folder.read(wanted.name));
  check_values(own, dtype, fmt::format("{}: {}", folder.file_of(wanted.name), wanted.name));
  return own.to(device, dtype, /*non_blocking=*/false, /*copy=*/true, at::MemoryFormat::Contiguous)
      .requires_grad_(true);
}

at::Tensor init_one(const ParameterShape& wanted, uint64_t seed, uint32_t number) {
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (wanted.name.ends_with(".bias")) return at::zeros(wanted.shape, options);
  if (wanted.shape.size() == 1) return at::ones(wanted.shape, options);  // a norm
  at::Tensor values = at::empty(wanted.shape, options);
  float* out = values.data_ptr<float>();
  at::parallel_for(0, values.numel(), 4096, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = static_cast<float>(0.02 * random_normal({.seed = seed,
                                                        .purpose = Purpose::kInit,
                                                        .step = number,
                                                        .sequence = static_cast<uint64_t>(i >> 32),
                                                        .position = static_cast<uint32_t>(i)}));
  });
  return values;
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
  for (const auto& parameter : wanted) check_one(folder, parameter);
}

void check_folder(const std::filesystem::path& folder, const ModelSpec& spec, FolderUse use) {
  const bool has_head = use == FolderUse::kWrites || use == FolderUse::kForwards;
  const bool needs_tokenizer = use == FolderUse::kWrites || use == FolderUse::kReads;
  check_parameters(HfFolder::open(folder), has_head ? policy_parameters(spec) : backbone_parameters(spec));
  if (needs_tokenizer && !is_there(folder / "tokenizer.json"))
    throw user_error(
        "{}: the folder has no tokenizer.json; save it with its fast tokenizer (tokenizer.save_pretrained)",
        folder.string());
}

NamedTensors load_parameters(const HfFolder& folder, const std::vector<ParameterShape>& wanted,
                             const ParameterShards& parts, const std::function<bool(const std::string&)>& may_ignore,
                             at::Device device, at::ScalarType dtype) {
  check_parameters(folder, wanted);
  NamedTensors parameters;
  for (const auto& parameter : wanted)
    parameters.emplace_back(parameter.name, load_one(folder, parameter, parts, device, dtype));
  check_nothing_unexpected(folder, wanted, may_ignore);
  return parameters;
}

NamedTensors init_parameters(const std::vector<ParameterShape>& wanted, uint64_t seed, at::Device device,
                             at::ScalarType dtype) {
  NamedTensors parameters;
  for (size_t i = 0; i < wanted.size(); ++i)
    parameters.emplace_back(wanted[i].name,
                            init_one(wanted[i], seed, static_cast<uint32_t>(i)).to(device, dtype).requires_grad_(true));
  return parameters;
}

NamedTensors planned_parameters(const std::vector<ParameterShape>& wanted, const ParameterShards& parts,
                                at::ScalarType dtype) {
  NamedTensors parameters;
  for (const auto& [name, shape, cut] : wanted) {
    const at::Tensor whole = at::empty(shape, at::TensorOptions(at::kMeta).dtype(dtype));
    parameters.emplace_back(name, parts.cut(name, whole).clone(at::MemoryFormat::Contiguous).requires_grad_(true));
  }
  return parameters;
}

const at::Tensor& parameter(const NamedTensors& parameters, const std::string& name) {
  const auto found =
      std::find_if(parameters.begin(), parameters.end(), [&](const auto& named) { return named.first == name; });
  ROLL_CHECK(found != parameters.end(), fmt::format("parameter {} was made by the spec", name));
  return found->second;
}

bool is_derived_buffer(const std::string& name) {
  return name.ends_with(".rotary_emb.inv_freq");
}

}  // namespace roll
