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

/// Returns true if the folder's config.json has a quantization_config other than MXFP4 and FP8, which HfFolder shows as
/// plain weights.
bool is_quantised(const HfFolder& folder);

/// Returns the names of all tensors that may be stored beside the codes of the weight with name `weight`.
std::unordered_set<std::string> bitsandbytes_names(const std::string& weight);
/// Returns true if a tensor with this name may be stored beside the codes of some weight.
bool is_bitsandbytes_part(const std::string& name);

/// Checks that the folder's file headers list the tensors of the matrix `weight` of `shape` {out, in}, quantised to
/// `kind`. Throws UserError if one is missing or has another dtype or size, or for kNf4 with an odd `in`.
void check_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                        Quantisation kind);
/// Calls check_bitsandbytes(), then reads the matrix to the CPU. Throws UserError also if the contents are not in
/// bitsandbytes' form, or scales are not finite.
QuantisedMatrix read_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                                  Quantisation kind);

}  // namespace roll
