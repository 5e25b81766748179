// Rotary position embeddings (RoPE, Su et al. 2021) in the kinds that transformers computes (modeling_rope_utils):
// frequencies of the pairs in a head, and the keys of config.json in transformers 4 (rope_theta, rope_scaling,
// partial_rotary_factor) and 5 (rope_parameters).
// Non-goal: frequencies that change with a sequence's length, on which a sampler and a trainer could not agree.
// LongRoPE has two lists of factors; a run uses one for all tokens, by its longest sequence (for_length() in spec.h),
// like vLLM by max_model_len. Under dynamic (NTK) RoPE, sequences end where frequencies would begin to change.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace roll {

class ConfigReader;

enum class RopeKind { kDefault, kLinear, kDynamic, kYarn, kLongRope, kLlama3, kProportional };

struct Rope {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000;
  int64_t dim = 0;               // leading elements of a head that rotate
  bool interleaved = false;      // pairs are (2i, 2i + 1), else (i, i + dim / 2)
  double factor = 1;             // linear, dynamic, YaRN, LongRoPE, Llama 3: extension of the context
  double attention_factor = 1;   // factor of cosines and sines: YaRN's and LongRoPE's temperature
  int64_t original_positions{};  // YaRN, LongRoPE, Llama 3: original context
  int64_t rotated_pairs = 0;     // proportional: number of pairs that rotate
  double low_freq_factor = 1, high_freq_factor = 4;  // Llama 3
  double beta_fast = 32, beta_slow = 1;  // YaRN: rotations per context above which pairs stay, below which they slow...
  bool truncate = true;                  // ... and if the pairs between are counted in whole numbers
  std::vector<double> short_factor{};    // LongRoPE: factor per pair, within the original context...
  std::vector<double> long_factor{};     // ... and in runs with longer sequences,
  int64_t long_positions{};              // up to this length
  bool is_long = false;                  // this run uses long_factor
  double query_growth = 0;  // queries after n original contexts are scaled by 1 + this * log(1 + n) (Llama 4)

  bool operator==(const Rope&) const = default;
};

/// An architecture's RoPE, unless config.json says otherwise.
struct RopeDefaults {
  double theta = 10000, partial = 1;
  bool allows_partial = false;  // partial_rotary_factor has an effect; else only in proportional RoPE
  bool interleaved = false;
};

/// Reads rope_scaling, else rope_parameters: one object, or one per kind of layer. rope_theta and partial_rotary_factor
/// beside them apply to objects without that key.
/// `local`: RoPE of layers with a sliding window, if they have a base of their own (`rope_local_base_freq`); else null.
/// UserError "origin: key = value: rule": a value is impossible or not supported.
void read_ropes(const ConfigReader& config, int64_t head_dim, int64_t max_positions, const RopeDefaults& usual,
                Rope& rope, Rope* local, double local_theta);

/// Reads rope_parameters with an object per kind of layer, for models whose layers without a window have heads of
/// another size (Gemma 4).
void read_ropes_by_kind(const ConfigReader& config, int64_t head_dim, int64_t local_head_dim, int64_t max_positions,
                        Rope& rope, Rope& local);
/// Returns the object of one kind of layer.
Json rope_object(const Rope& rope);

/// Writes a RoPE to config.json, in keys that both versions of transformers read.
void write_rope(const Rope& rope, int64_t head_dim, Json& config);

/// Returns [dim / 2] float32: theta^(-2i/dim), changed by the kind. Rounds like transformers, because an angle is
/// position * frequency and a relative error of 1e-7 shows at position 1e4.
at::Tensor inverse_frequencies(const Rope& rope);

/// Returns the factors of queries at these positions (Rope::query_growth): float32.
at::Tensor query_growth(const Rope& rope, const at::Tensor& positions);

}  // namespace roll
