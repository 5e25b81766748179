// Weights that folders store as small floats with a scale for each block of elements: MXFP4 (gpt-oss) and FP8
// (DeepSeek-V3, Kimi-K2 and others; config.json's quant_method says which). HfFolder shows them as bfloat16 weights.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace roll {

/// Ways to store a weight in two tensors. kMxfp4: codes of 4 bits as bytes [..., rows, columns / 32, 16], a byte holds
/// two codes, the first in its low half; each 32 elements have a byte s that means 2^(s - 127); the weight is [...,
/// columns, rows]. kFp8: float8_e4m3fn [rows, columns], a scale for each 128 x 128 elements.
enum class BlockFloats { kMxfp4, kFp8 };

/// Returns how config.json says that weights are stored; null if they are stored in none of these ways. Throws
/// UserError for FP8 without 128 x 128 blocks.
std::optional<BlockFloats> block_floats(const Json& config, const std::string& origin);

/// A weight and the two tensors that it is stored in.
struct BlockEntry {
  BlockFloats kind;
  TensorEntry weight;  // name and shape when read; its dtype is bfloat16
  std::string codes, scales;
};

/// Returns the weights that the folder's `entries` store in this way. Throws UserError "file: name: problem" if scales
/// are missing or sizes do not fit; `tensor_path` returns the path of a tensor's file.
std::vector<BlockEntry> find_block_weights(BlockFloats kind, const std::vector<TensorEntry>& entries,
                                           const std::function<std::string(const std::string&)>& tensor_path);

/// Returns the weight in bfloat16, as transformers dequantises it.
at::Tensor read_blocks(BlockFloats kind, const at::Tensor& codes, const at::Tensor& scales);

}  // namespace roll
