// Rotary position embeddings (RoPE, Su et al. 2021) in the kinds of transformers (modeling_rope_utils): computes the
// frequencies of the pairs in a head, and reads and writes the keys of config.json for spec.cpp. It knows the keys of
// transformers 4 (rope_theta, rope_scaling, partial_rotary_factor) and 5 (rope_parameters). ops/layer_ops.h rotates.
// Frequencies never change with a sequence's length, because a sampler and a trainer could not agree on them. LongRoPE
// has two lists of factors; a run uses one list for all tokens, chosen by its longest sequence (for_length() in spec.h;
// vLLM chooses by max_model_len). Sequences with dynamic (NTK) RoPE are limited to the length at which its frequencies
// would begin to change.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace roll {

class ConfigReader;

enum class RopeKind { kDefault, kLinear, kDynamic, kYarn, kLongRope, kLlama3, kProportional };

/// One RoPE. Comments that begin with kinds name the only kinds that use the field.
struct Rope {
  RopeKind kind = RopeKind::kDefault;
  double theta = 10000;
  int64_t dim = 0;               // number of a head's elements that rotate, from element 0 on
  bool interleaved = false;      // pair i is elements (2i, 2i + 1); false: (i, i + dim / 2)
  double factor = 1;             // all kinds but kDefault: factor by which the context is extended
  double attention_factor = 1;   // YaRN, LongRoPE: factor of cosines and sines (a temperature)
  int64_t original_positions{};  // YaRN, LongRoPE, Llama 3: longest sequence before the extension, in tokens
  int64_t rotated_pairs = 0;     // proportional: number of pairs that rotate; the others have frequency 0
  double low_freq_factor = 1, high_freq_factor = 4;  // Llama 3: config.json's keys of these names
  double beta_fast = 32;               // YaRN: pairs with more rotations per original context keep their frequency
  double beta_slow = 1;                // YaRN: pairs with fewer have it divided by `factor`; those between are blended
  bool truncate = true;                // YaRN: the first and last blended pair are rounded to whole numbers
  std::vector<double> short_factor{};  // LongRoPE: divisor per pair, in runs within the original context
  std::vector<double> long_factor{};   // LongRoPE: divisor per pair, in runs with longer sequences
  int64_t long_positions{};            // LongRoPE: longest sequence of such runs, in tokens
  bool is_long = false;                // LongRoPE: this run uses long_factor
  // A query at position p is scaled by 1 + query_growth * log(1 + floor(p / original_positions)) (Llama 4); 0: not
  // scaled.
  double query_growth = 0;
  // YaRN: latent attention multiplies its scores by the square of yarn_temperature(factor, mscale_all_dim).
  double mscale_all_dim = 0;

  bool operator==(const Rope&) const = default;
};

/// An architecture's defaults, for keys that config.json lacks.
struct RopeDefaults {
  double theta = 10000;
  double partial = 1;           // share of a head that rotates (partial_rotary_factor)
  bool allows_partial = false;  // partial_rotary_factor has an effect; false: only in proportional RoPE
  bool interleaved = false;
  bool reads_interleave = false;  // the key rope_interleave says whether pairs are interleaved (DeepSeek)
  bool reads_alpha = false;       // dynamic RoPE with the key alpha is RoPE with a larger theta (Hunyuan)
  bool reads_rotary_dim = false;  // rotary_dim is the number of a head's elements that rotate (MiniMax)
  // M-RoPE (rope_type mrope, mrope_section): pairs rotate by a token's time, row or column in an image. All three are
  // its position in text, so that RoPE of a text is the plain one, however pairs are assigned.
  bool has_sections = false;
};

/// Reads rope_scaling, or else rope_parameters: one object, or one per kind of layer (full_attention,
/// sliding_attention). rope_theta and partial_rotary_factor beside the objects apply to objects that lack the key.
/// `rope`: result for all layers, or for those without a window if `local` is not null; `local`: result for layers with
/// a window. `max_positions`: max_position_embeddings. `local_theta`: theta of `local` if config.json lacks
/// rope_local_base_freq; -1: that of `rope`. `usual`: defaults. Throws UserError "origin: key = value: rule" if a value
/// is impossible or not supported.
void read_ropes(const ConfigReader& config, int64_t head_dim, int64_t max_positions, const RopeDefaults& usual,
                Rope& rope, Rope* local, double local_theta);

/// Like read_ropes(), for models whose layers without a window have heads of another size (Gemma 4). Reads
/// rope_parameters, which must have an object for each kind of layer; takes Gemma 4's defaults if it is absent.
/// `head_dim`: head size of layers without a window; `local_head_dim`: head size of the other layers.
void read_ropes_by_kind(const ConfigReader& config, int64_t head_dim, int64_t local_head_dim, int64_t max_positions,
                        Rope& rope, Rope& local);
/// Returns the object of rope_parameters for one such kind of layer.
Json rope_object(const Rope& rope);

/// Writes a RoPE to config.json, in keys that both versions of transformers read.
void write_rope(const Rope& rope, int64_t head_dim, Json& config);

/// Returns the frequency of each pair i in radians per position, [dim / 2] float32 on the CPU: theta^(-2i/dim), changed
/// as the kind says. Rounded exactly as in transformers: angles are position * frequency, so that a relative error of
/// 1e-7 would show at position 1e4. dim must not be 0.
at::Tensor inverse_frequencies(const Rope& rope);

/// Returns the factors of queries at these positions (Rope::query_growth): float32, in the shape of `positions`.
at::Tensor query_growth(const Rope& rope, const at::Tensor& positions);

/// Returns YaRN's temperature (Peng et al. 2023, section 3.4) for a context extended by `factor`; mscale: config.json's
/// key of that name, 1 in the paper.
double yarn_temperature(double factor, double mscale);

}  // namespace roll
