// Reads weight matrices that bitsandbytes quantised, from folders that transformers saved: nf4 (load_in_4bit), also
// with quantised scales (bnb_4bit_use_double_quant), and LLM.int8() (load_in_8bit). A matrix is stored as a tensor of
// codes under the weight's name ("...q_proj.weight") and a few tensors beside it, such as scales.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/bitsandbytes_config.h"
#include "checkpoint/hf_folder.h"
#include "ops/quantised.h"

namespace roll {

/// True if the folder's config.json has a quantization_config.
bool is_quantised(const HfFolder& folder);

/// Returns the names of all tensors that may be stored beside the codes of `weight`.
std::unordered_set<std::string> bitsandbytes_names(const std::string& weight);
/// True if the name ends like that of such a tensor, of any weight.
bool is_bitsandbytes_part(const std::string& name);

/// Throws UserError unless the folder's file headers list the tensors of a matrix of `shape` {out, in}, quantised to
/// `kind`, with the right dtypes and sizes.
void check_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                        Quantisation kind);
/// Reads a matrix after check_bitsandbytes(). Also throws UserError if the contents are not in bitsandbytes' form, or
/// scales are not finite.
QuantisedMatrix read_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                                  Quantisation kind);

}  // namespace roll
