// Finds how a GGUF model scales its rotary embedding (RoPE), as the value of rope_scaling in config.json. Used by
// model_config(), and by rope_tensors() for new files.
#pragma once

#include <vector>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns the values of a tensor that scales RoPE, such as rope_freqs.weight, one for each pair of rotated dimensions.
/// Empty if the file has no such tensor. Throws UserError unless the tensor is float32 with one dimension of at most
/// 4,096 values.
std::vector<double> small_tensor(const File& file, const char* name);

/// Llama 3's scaling: keys of rope_scaling without "_freq_factor", and original_max_position_embeddings.
struct Llama3 {
  double factor, low, high, positions;
};

/// Returns the numbers by which the scaling divides the frequencies of a RoPE with base `theta`.
std::vector<double> llama3_divisors(const Llama3& scaling, double theta, size_t pairs);

/// Returns a rope_scaling of type "llama3" that divides the frequencies of a RoPE with base `theta` by `divisors`, with
/// a relative error of at most 1e-4. Null if all divisors are 1. Throws UserError, which names `file`, if no tried
/// scaling does.
Json llama3_scaling(const File& file, const std::vector<double>& divisors, double theta);

/// Returns the rope_scaling of type "linear" or "yarn" that the keys ARCHITECTURE.rope.scaling.* define. Null if they
/// define none, or longrope, which model_config() reads from tensors. Throws UserError if a key is missing or has a
/// value that roll does not know.
Json keyed_scaling(const File& file, const std::string& architecture);

}  // namespace roll::gguf
