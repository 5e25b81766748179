// Finds how a GGUF file scales its rotary embedding, in the words of config.json.
#pragma once

#include <vector>

#include "base/json.h"
#include "checkpoint/gguf/gguf_file.h"

namespace roll::gguf {

/// Returns the numbers of a small float32 tensor; empty if the file has no such tensor. UserError: it has another type.
std::vector<double> small_tensor(const File& file, const char* name);

/// Returns the rope_scaling "llama3" that divides the frequencies of a RoPE with this theta by `divisors` (up to
/// float32's rounding), or null if they are all 1. UserError: none does.
Json llama3_scaling(const File& file, const std::vector<double>& divisors, double theta);

/// Returns rope_scaling by the keys ARCHITECTURE.rope.scaling.*; null: there is none. UserError: a key has an unknown
/// value.
Json keyed_scaling(const File& file, const std::string& architecture);

}  // namespace roll::gguf
