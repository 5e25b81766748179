#include "checkpoint/block_floats.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kFp8Block = 128;
constexpr int64_t kBytesPerBlock = 16;  // 32 codes

struct Suffixes {
  std::string codes, scales, weight;  // ends of the names
};

Suffixes name_ends(BlockFloats kind) {
  if (kind == BlockFloats::kMxfp4) return {"_blocks", "_scales", ""};
  return {".weight", ".weight_scale_inv", ".weight"};
}

int64_t fp8_blocks(int64_t size) {
  return (size + kFp8Block - 1) / kFp8Block;
}

/// Returns the shape of the scales; empty if the codes have an impossible form.
std::vector<int64_t> scales_shape(BlockFloats kind, const TensorEntry& codes) {
  std::vector<int64_t> shape = codes.shape;
  if (kind == BlockFloats::kFp8)
    return shape.size() == 2 ? std::vector<int64_t>{fp8_blocks(shape[0]), fp8_blocks(shape[1])}
                             : std::vector<int64_t>();
  if (codes.dtype != at::kByte || shape.size() < 3 || shape.back() != kBytesPerBlock) return {};
  shape.pop_back();
  return shape;
}

std::vector<int64_t> weight_shape(BlockFloats kind, std::vector<int64_t> shape) {
  if (kind == BlockFloats::kFp8) return shape;
  shape.pop_back();
  shape.back() *= 2 * kBytesPerBlock;
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return shape;
}

at::Tensor read_mxfp4(const at::Tensor& codes, const at::Tensor& scales) {
  // Numbers of the code's lower three bits (E2M1); the fourth is the sign.
  static constexpr std::array<float, 8> kNumbers = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  std::vector<int64_t> shape = codes.sizes().vec();
  shape.pop_back();
  shape.back() *= 2 * kBytesPerBlock;
  at::Tensor rows = at::empty(shape, at::kBFloat16);
  const at::Tensor all_codes = codes.contiguous(), all_scales = scales.contiguous();
  const auto* const bytes = all_codes.const_data_ptr<uint8_t>();
  const auto* const exponents = all_scales.const_data_ptr<uint8_t>();
  auto* const out = rows.mutable_data_ptr<c10::BFloat16>();
  at::parallel_for(0, all_scales.numel(), 1024, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const float scale = std::ldexp(1.0F, exponents[block] - 127);
      for (int64_t i = 0; i < 2 * kBytesPerBlock; ++i) {
        const int code = bytes[block * kBytesPerBlock + i / 2] >> (i % 2 == 0 ? 0 : 4) & 15;
        const float number = kNumbers[static_cast<size_t>(code & 7)] * scale;
        out[block * 2 * kBytesPerBlock + i] = code > 7 ? -number : number;
      }
    }
  });
  return rows.transpose(-1, -2);
}

at::Tensor read_fp8(const at::Tensor& codes, const at::Tensor& scales) {
  at::Tensor weight = at::empty(codes.sizes(), at::kBFloat16);
  const at::Tensor factors = scales.to(at::kFloat);
  const int64_t rows = codes.size(0);
  at::parallel_for(0, fp8_blocks(rows), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t first = block * kFp8Block, count = std::min(kFp8Block, rows - first);
      const at::Tensor by_column = factors[block].repeat_interleave(kFp8Block).narrow(0, 0, codes.size(1));
      weight.narrow(0, first, count).copy_(codes.narrow(0, first, count).to(at::kFloat) * by_column);
    }
  });
  return weight;
}

}  // namespace

std::optional<BlockFloats> block_floats(const Json& config, const std::string& origin) {
  const auto section = config.find("quantization_config");
  if (section == config.end() || !section->is_object()) return {};
  const Json method = section->value("quant_method", Json());
  if (method == "mxfp4") return BlockFloats::kMxfp4;
  if (method != "fp8") return {};
  if (section->value("weight_block_size", Json()) != Json{kFp8Block, kFp8Block})
    throw user_error(
        "{}: quantization_config: weight_block_size = {}: only [128, 128] is read; use an unquantised model", origin,
        section->value("weight_block_size", Json()).dump());
  return BlockFloats::kFp8;
}

std::vector<BlockEntry> find_block_weights(BlockFloats kind, const std::vector<TensorEntry>& entries,
                                           const std::function<std::string(const std::string&)>& tensor_path) {
  const Suffixes ends = name_ends(kind);
  std::map<std::string_view, const TensorEntry*> by_name;
  for (const TensorEntry& entry : entries) by_name.emplace(entry.name, &entry);
  std::vector<BlockEntry> found;
  for (const TensorEntry& entry : entries) {
    const bool may_be_codes = kind == BlockFloats::kMxfp4 || entry.dtype == at::kFloat8_e4m3fn;
    if (!entry.name.ends_with(ends.codes) || !may_be_codes) continue;
    const std::string module = entry.name.substr(0, entry.name.size() - ends.codes.size());
    const auto scales = by_name.find(module + ends.scales);
    const std::vector<int64_t> wanted = scales_shape(kind, entry);
    if (scales == by_name.end())
      throw user_error("{}: {}: the folder has no {}{}; fetch it again", tensor_path(entry.name), entry.name, module,
                       ends.scales);
    const bool has_dtype =
        kind == BlockFloats::kMxfp4 ? scales->second->dtype == at::kByte : at::isFloatingType(scales->second->dtype);
    if (wanted.empty() || scales->second->shape != wanted || !has_dtype)
      throw user_error("{}: {}: {} {} and its scales {} {} do not fit; fetch the folder again", tensor_path(entry.name),
                       entry.name, dtype_name(entry.dtype), shape_text(entry.shape), dtype_name(scales->second->dtype),
                       shape_text(scales->second->shape));
    BlockEntry& one = found.emplace_back(BlockEntry{kind, entry, entry.name, scales->second->name});
    one.weight.name = module + ends.weight;
    one.weight.dtype = at::kBFloat16;
    one.weight.shape = weight_shape(kind, entry.shape);
  }
  return found;
}

at::Tensor read_blocks(BlockFloats kind, const at::Tensor& codes, const at::Tensor& scales) {
  return kind == BlockFloats::kMxfp4 ? read_mxfp4(codes, scales) : read_fp8(codes, scales);
}

}  // namespace roll
