// Rotary position embeddings (Su et al. 2021) in the kinds that transformers computes (modeling_rope_utils): how fast
// each pair of a head's numbers turns, and how config.json says so, in the keys of transformers 4 (rope_theta,
// rope_scaling, partial_rotary_factor) and 5 (rope_parameters).
// Non-goal: frequencies that change with the length of a sequence, which a sampler and a trainer could not agree on.
// Of LongRoPE's two lists a run takes one for all its tokens, by its longest sequence (for_length() in spec.h), as vLLM
// does by max_model_len. Sequences of dynamic (NTK) rotations end where these would begin to change.
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
  int64_t dim = 0;               // of a head's numbers the first ones turn
  bool interleaved = false;      // the pairs are (2i, 2i + 1), else (i, i + dim / 2)
  double factor = 1;             // linear, dynamic, YaRN, LongRoPE, Llama 3: by how much the context was stretched
  double attention_factor = 1;   // of cosines and sines: YaRN's and LongRoPE's temperature
  int64_t original_positions{};  // YaRN, LongRoPE, Llama 3: of the context before
  int64_t turned = 0;            // proportional: so many of the pairs; the others stand still
  double low_freq_factor = 1, high_freq_factor = 4;  // Llama 3
  double beta_fast = 32, beta_slow = 1;  // YaRN: turns in the context above which waves stay as they were...
  bool truncate = true;                  // ... and whether the pairs between are counted in whole numbers
  std::vector<double> short_factor{};    // LongRoPE: of each pair, within the original context...
  std::vector<double> long_factor{};     // ... and of runs whose sequences may be longer,
  int64_t long_positions{};              // which end here
  bool is_long = false;                  // whether this run's may
  double query_growth = 0;  // queries beyond n original contexts are scaled by 1 + this * log(1 + n) (Llama 4)

  bool operator==(const Rope&) const = default;
};

/// What a model's rotations are, unless its config.json says otherwise.
struct RopeDefaults {
  double theta = 10000, partial = 1;
  bool turns_parts = false;  // partial_rotary_factor counts; else it does in proportional rotations alone
  bool interleaved = false;
};

/// Reads rope_scaling, else rope_parameters, each one object or one for each of the kinds of layers; rope_theta and
/// partial_rotary_factor beside them are of objects that lack the key.
/// `local`: of layers with a sliding window, where these have a base of their own, `rope_local_base_freq`.
/// UserError "origin: key = value: rule".
void read_ropes(const ConfigReader& config, int64_t head_dim, int64_t max_positions, const RopeDefaults& usual,
                Rope& rope, Rope* local, double local_theta);

/// Of models whose layers without a window have heads of another size (Gemma 4): rope_parameters, with an object of
/// each kind.
void read_ropes_by_kind(const ConfigReader& config, int64_t head_dim, int64_t local_head_dim, int64_t max_positions,
                        Rope& rope, Rope& local);
/// The object of a kind.
Json rope_object(const Rope& rope);

/// Into config.json, in the keys that both versions of transformers read.
void write_rope(const Rope& rope, int64_t head_dim, Json& config);

/// [dim / 2] float32: theta^(-2i/dim), as the kind changes them. Rounded as transformers rounds, since an angle is
/// position * frequency and a relative error of 1e-7 shows at position 1e4.
at::Tensor inverse_frequencies(const Rope& rope);

/// What queries at these positions are multiplied by (Rope::query_growth): float32.
at::Tensor query_growth(const Rope& rope, const at::Tensor& positions);

}  // namespace roll
