// Reads matrices that bitsandbytes quantised, as transformers saves them: nf4 (load_in_4bit), also with quantised
// scales (bnb_4bit_use_double_quant), and LLM.int8() (load_in_8bit).
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/bitsandbytes_config.h"
#include "checkpoint/hf_folder.h"
#include "ops/quantised.h"

namespace roll {

/// Returns true if the folder's config.json has a quantization_config.
bool is_quantised(const HfFolder& folder);

/// Returns the names of tensors that may accompany the codes of `weight` ("...q_proj.weight").
std::unordered_set<std::string> bitsandbytes_names(const std::string& weight);
/// Returns true if the name has the ending of such a tensor.
bool is_bitsandbytes_part(const std::string& name);

/// Checks the headers. UserError: the folder has no such codes for a matrix of `shape` [out, in].
void check_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                        Quantisation kind);
/// Checks and reads a matrix. UserError also when the contents differ from what bitsandbytes writes.
QuantisedMatrix read_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                                  Quantisation kind);

}  // namespace roll
