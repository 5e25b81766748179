// Scales a configuration to another number of ranks, for `--simulate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/load_config.h"

namespace roll {

struct ScaleRequest {
  ConfigText text;
  std::optional<int64_t> num_ranks;  // -n: number of ranks of the unscaled configuration
  bool keeps_batch = false;          // false: rollout_batch_size grows with the actor's data-parallel ranks
};

/// Configuration at any number of ranks. If all roles share all ranks, they still do; if roles are placed apart, each
/// rank becomes several.
class ScaledConfig {
 public:
  /// UserError: load_config() refuses the unscaled configuration.
  explicit ScaledConfig(ScaleRequest request);

  /// Returns the configuration at `num_ranks`. UserError: it cannot be scaled so (names the nearest possible numbers),
  /// or load_config() refuses it.
  CheckedConfig<Config> at(int64_t num_ranks) const;

  /// Returns a smaller number of ranks that can stand for `num_ranks`, because places and work per rank are the same:
  /// the largest up to `most`, else the smallest above. Returns `num_ranks` if there is none or it is at most `most`.
  int64_t stand_in(int64_t num_ranks, int64_t most) const;
  /// Returns the rank of `num_ranks` that `rank` of `stand_in` stands for.
  int scaled_rank(int rank, int64_t stand_in, int64_t num_ranks) const;

 private:
  /// Returns why `num_ranks` is impossible, or "".
  std::string misfit(int64_t num_ranks) const;
  std::string nearest_numbers(int64_t num_ranks) const;
  int64_t batch_at(int64_t num_ranks) const;
  /// Returns the actor's data-parallel ranks at `num_ranks`.
  int64_t scaled_data_ranks(int64_t num_ranks) const;

  ScaleRequest request_;
  CheckedConfig<Config> base_;
  bool is_shared_;       // all roles live on all ranks
  int64_t model_ranks_;  // least common multiple over all roles
};

}  // namespace roll
