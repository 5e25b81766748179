// Writes the content of a config.json as metadata of a GGUF file: the inverse of model_config.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/gguf/gguf_writer.h"

namespace roll::gguf {

/// Adds general.architecture and the keys ARCHITECTURE.* to `metadata`. `config`: content of config.json with all keys
/// given, as hf_config() in model/spec.h makes it. What GGUF files cannot say is left out: the caller compares what
/// model_config() reads of the result.
void add_config(const Json& config, const std::string& architecture, Metadata& metadata);

/// Returns the small float32 tensors that scale RoPE, such as rope_freqs.weight.
std::vector<std::pair<std::string, std::vector<float>>> rope_tensors(const Json& config,
                                                                     const std::string& architecture);

}  // namespace roll::gguf
