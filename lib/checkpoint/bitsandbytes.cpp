#include "checkpoint/bitsandbytes.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"

namespace roll {

namespace {

constexpr const char* kState = ".quant_state.bitsandbytes__nf4";
constexpr std::array kBesideWeight = {".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map", kState};
constexpr std::array kBesideModule = {".SCB", ".weight_format"};
constexpr int64_t kNestedBlock = 256;  // number of scales per nested scale

void require_entry(const HfFolder& folder, const std::string& name, at::ScalarType dtype, int64_t numel) {
  const TensorEntry* entry = folder.find(name);
  if (!entry)
    throw user_error("{}: {}: is missing, but config.json says that bitsandbytes quantised this weight; {}",
                     folder.path().string(), name, bitsandbytes::kGivePlain);
  int64_t found = 1;
  for (const int64_t n : entry->shape) found *= n;
  if (entry->dtype != dtype || found != numel)
    throw user_error("{}: {}: is {} {}, but bitsandbytes stores {} elements of {}; {}", folder.tensor_file(name), name,
                     dtype_name(entry->dtype), shape_text(entry->shape), numel, dtype_name(dtype),
                     bitsandbytes::kGivePlain);
}

std::string module_name(const std::string& weight) {
  return weight.substr(0, weight.rfind(".weight"));
}

int64_t num_blocks(int64_t numel, int64_t size) {
  return (numel + size - 1) / size;
}

/// Metadata that bitsandbytes stores with a matrix, as JSON bytes.
struct QuantState {
  at::ScalarType from;
  double offset;
};

QuantState read_state(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape) {
  const std::string name = weight + kState, where = fmt::format("{}: {}", folder.tensor_file(name), name);
  const at::Tensor bytes = folder.read(name).contiguous();
  const std::string_view text(static_cast<const char*>(bytes.const_data_ptr()), static_cast<size_t>(bytes.numel()));
  const Json state = parse_json(text, where);
  if (!state.is_object()) throw user_error("{}: {} where a JSON object is needed", where, state.type_name());
  const auto require = [&](const char* key, const Json& only) {
    const auto found = state.find(key);
    if (found == state.end() || *found != only)
      throw user_error("{}: {} = {}: only {} is read; {}", where, key,
                       found == state.end() ? "(absent)" : to_line(*found), to_line(only), bitsandbytes::kGivePlain);
  };
  require("quant_type", "nf4"), require("blocksize", static_cast<int64_t>(kNf4Block)), require("shape", shape);
  const bool is_nested = folder.find(weight + ".nested_absmax") != nullptr;
  if (is_nested) require("nested_blocksize", kNestedBlock), require("nested_dtype", "float32");
  return {
      bitsandbytes::float_named(bitsandbytes::typed_value<std::string>(state, where, "dtype", ""), where + ": dtype"),
      bitsandbytes::typed_value(state, where, "nested_offset", 0.0)};
}

/// Dequantises nested scales: codes into a table of 256 values, one scale per 256 codes, plus the mean.
at::Tensor nested_scales(const HfFolder& folder, const std::string& weight, double offset) {
  const at::Tensor codes = folder.read(weight + ".absmax").flatten().to(at::kInt);
  const at::Tensor values = folder.read(weight + ".nested_quant_map").flatten().index_select(0, codes);
  const at::Tensor scales = folder.read(weight + ".nested_absmax").flatten();
  return values * scales.repeat_interleave(kNestedBlock).narrow(0, 0, codes.numel()) + offset;
}

void require_finite(const at::Tensor& scales, const HfFolder& folder, const std::string& name) {
  if (!at::isfinite(scales).all().item<bool>())
    throw user_error("{}: {}: holds NaN or infinite values; use another checkpoint", folder.tensor_file(name), name);
}

}  // namespace

bool is_quantised(const HfFolder& folder) {
  const auto section = folder.config().find(bitsandbytes::kSection);
  return section != folder.config().end() && !section->is_null() && !block_floats(folder.config(), "");
}

std::unordered_set<std::string> bitsandbytes_names(const std::string& weight) {
  std::unordered_set<std::string> names;
  for (const char* end : kBesideWeight) names.insert(weight + end);
  for (const char* end : kBesideModule) names.insert(module_name(weight) + end);
  return names;
}

bool is_bitsandbytes_part(const std::string& name) {
  const auto matches_suffix = [&](const char* suffix) { return name.ends_with(suffix); };
  return std::ranges::any_of(kBesideWeight, matches_suffix) || std::ranges::any_of(kBesideModule, matches_suffix);
}

void check_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                        Quantisation kind) {
  const int64_t outputs = shape[0], inputs = shape[1], numel = outputs * inputs;
  const TensorEntry* codes = folder.find(weight);
  if (codes && at::isFloatingType(codes->dtype))
    throw user_error("{}: {}: is {}, but config.json says that it is quantised; name its module in {}",
                     folder.tensor_file(weight), weight, dtype_name(codes->dtype), bitsandbytes::kSkipped);
  if (kind == Quantisation::kInt8) {
    require_entry(folder, weight, at::kChar, numel),
        require_entry(folder, module_name(weight) + ".SCB", at::kFloat, outputs);
    return;
  }
  if (inputs % 2 != 0)
    throw user_error("{}: {}: has {} inputs, an odd number, but nf4 stores two inputs per byte; {}",
                     folder.tensor_file(weight), weight, inputs, bitsandbytes::kGivePlain);
  const int64_t blocks = num_blocks(numel, kNf4Block);
  const bool is_nested = folder.find(weight + ".nested_absmax") != nullptr;
  require_entry(folder, weight, at::kByte, numel / 2);
  require_entry(folder, weight + ".absmax", is_nested ? at::kByte : at::kFloat, blocks);
  require_entry(folder, weight + ".quant_map", at::kFloat, nf4_values(at::kCPU).numel());
  if (is_nested) require_entry(folder, weight + ".nested_absmax", at::kFloat, num_blocks(blocks, kNestedBlock));
  if (is_nested) require_entry(folder, weight + ".nested_quant_map", at::kFloat, 256);
  if (!folder.find(weight + kState))
    throw user_error("{}: {}{}: is missing; {}", folder.tensor_file(weight), weight, kState, bitsandbytes::kGivePlain);
}

QuantisedMatrix read_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                                  Quantisation kind) {
  check_bitsandbytes(folder, weight, shape, kind);
  const int64_t outputs = shape[0], inputs = shape[1];
  if (kind == Quantisation::kInt8) {
    const std::string scales = module_name(weight) + ".SCB", format = module_name(weight) + ".weight_format";
    if (folder.find(format) && folder.read(format).to(at::kLong).sum().item<int64_t>() != 0)
      throw user_error("{}: {}: must be 0 (one scale per row), the only weight format that roll reads; {}",
                       folder.tensor_file(format), format, bitsandbytes::kGivePlain);
    require_finite(folder.read(scales), folder, scales);
    return {kind, folder.read(weight).view(shape), folder.read(scales).flatten()};
  }
  const QuantState state = read_state(folder, weight, shape);
  if (const std::string config = (folder.path() / "config.json").string();
      state.from != bitsandbytes::stored_dtype(folder.config(), config))
    throw user_error("{}: dtype: must equal the dtype of {}{} in {}, which is {}", config, weight, kState,
                     folder.tensor_file(weight), at::toString(state.from));
  const std::string table = weight + ".quant_map", scales = weight + ".absmax";
  if (!at::equal(folder.read(table).flatten(), nf4_values(at::kCPU)))
    throw user_error("{}: {}: is not bitsandbytes' table of nf4 values; {}", folder.tensor_file(table), table,
                     bitsandbytes::kGivePlain);
  const bool is_nested = folder.find(weight + ".nested_absmax") != nullptr;
  at::Tensor scale_values = is_nested ? nested_scales(folder, weight, state.offset) : folder.read(scales).flatten();
  require_finite(scale_values, folder, scales);
  if (inputs % kNf4Block == 0) scale_values = scale_values.view({outputs, inputs / kNf4Block});
  return {kind, folder.read(weight).view({outputs, inputs / 2}), scale_values, state.from};
}

}  // namespace roll
