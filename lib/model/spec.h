// What a decoder-only transformer of the Qwen2 / Qwen3 / Llama family is, read from and written to HF's config.json.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace roll {

enum class Architecture { kQwen2, kQwen3, kLlama };

/// Llama 3.1's frequency scaling (`rope_type: llama3`).
struct Llama3Scaling {
  double factor = 8, low_freq_factor = 1, high_freq_factor = 4;
  int64_t original_max_positions = 8192;
};

struct ModelSpec {
  Architecture architecture = Architecture::kQwen2;
  int64_t vocab_size = 0, hidden_size = 0, intermediate_size = 0, num_layers = 0;
  int64_t num_heads = 0, num_kv_heads = 0, head_dim = 0, max_positions = 32768;
  double rms_norm_eps = 1e-6, rope_theta = 10000;
  std::optional<Llama3Scaling> rope_scaling;
  bool tied_head = false;  // lm_head is embed_tokens
  bool qkv_bias = false, o_bias = false, mlp_bias = false;
  bool qk_norm = false;  // RMSNorm over each head of q and k (Qwen3)

  /// Floating-point operations of one forward pass over a sequence of `length` tokens:
  /// linear part * length + causal attention part * length^2. Backward is twice that.
  double forward_flops(int64_t length, bool with_lm_head = true) const;
  int64_t num_parameters() const;
};

/// From config.json. UserError "origin: key = value: rule" for unknown architectures, missing or impossible values, and
/// what we would compute wrongly: sliding windows in use, other rope types, activations other than silu.
ModelSpec parse_spec(const Json& config, const std::string& origin);

/// A config.json that transformers opens as the CausalLM of that architecture (without dtype; hf_folder adds it).
Json hf_config(const ModelSpec& spec);

/// "qwen2" | "qwen3" | "llama"; parse_architecture throws UserError with the nearest name.
std::string architecture_name(Architecture architecture);
Architecture parse_architecture(const std::string& name, const std::string& origin);

struct ParameterShape {
  std::string name;  // HF's
  std::vector<int64_t> shape;
};

/// Every parameter of the backbone (embedding, layers, final norm), in HF's order and under HF's names.
std::vector<ParameterShape> backbone_parameters(const ModelSpec& spec);

}  // namespace roll
