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

/// Llama 3's scaling of RoPE, as the keys of rope_scaling describe it. A frequency's turns are its rotations by 360
/// degrees within the original context. Divisors change smoothly between the two bounds `low` and `high`.
struct Llama3 {
  double factor;     // key "factor": divisor of the frequencies with fewer turns than `low`
  double low;        // key "low_freq_factor", in turns
  double high;       // key "high_freq_factor", in turns; frequencies with more stay as they are
  double positions;  // key "original_max_position_embeddings": length of the original context in tokens
};

/// Returns the numbers by which the scaling divides the frequencies of a RoPE with base `theta`, the highest frequency
/// first. `pairs`: number of pairs of rotated dimensions; each pair has a frequency.
std::vector<double> llama3_divisors(const Llama3& scaling, double theta, size_t pairs);

/// Returns a rope_scaling of type "llama3" that divides the frequencies of a RoPE with base `theta` by `divisors`, with
/// a relative error of at most 1e-4. A file has only the divisors, so the function tries usual values of the keys. Null
/// if all divisors are 1. Throws UserError, which names `file`, if none of the tried values gives these divisors.
Json llama3_scaling(const File& file, const std::vector<double>& divisors, double theta);

/// Returns the rope_scaling of type "linear" or "yarn" that the keys ARCHITECTURE.rope.scaling.* define, or the older
/// key ARCHITECTURE.rope.scale_linear. Null if there is no scaling, or a linear one by 1. Null also for the type
/// longrope, whose factors model_config() reads from tensors. Throws UserError if a key is missing or has a value that
/// roll does not know.
Json keyed_scaling(const File& file, const std::string& architecture);

}  // namespace roll::gguf
