// Matrices that bitsandbytes quantised, in the folders that transformers writes of them: nf4 (load_in_4bit), also with
// quantised scales (bnb_4bit_use_double_quant), and LLM.int8() (load_in_8bit).
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "checkpoint/bitsandbytes_config.h"
#include "checkpoint/hf_folder.h"
#include "ops/quantised.h"

namespace roll {

/// Whether the folder's config.json says that its weights are quantised.
bool is_quantised(const HfFolder& folder);

/// The tensors that may stand beside the codes of `weight` ("...q_proj.weight").
std::unordered_set<std::string> bitsandbytes_names(const std::string& weight);
/// Whether a tensor is called as one of these.
bool is_bitsandbytes_part(const std::string& name);

/// UserError: the folder has no such codes of a matrix of `shape` [out, in], by its headers.
void check_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                        Quantisation kind);
/// UserError: also what is in them is not as bitsandbytes writes it.
QuantisedMatrix read_bitsandbytes(const HfFolder& folder, const std::string& weight, const std::vector<int64_t>& shape,
                                  Quantisation kind);

}  // namespace roll
