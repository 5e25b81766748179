// Scales a configuration to another number of ranks, for `--simulate` (simulation.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/load_config.h"

namespace roll {

/// Arguments of ScaledConfig.
struct ScaleRequest {
  ConfigText text;                   // the unscaled configuration
  std::optional<int64_t> num_ranks;  // -n: number of ranks of the unscaled configuration; unset: load_config() finds it
  bool keeps_batch = false;          // true: batch sizes stay; false: they grow with the actor's data-parallel ranks
};

/// A configuration at any number of ranks. If all roles share all ranks, they do so at every number; if roles have
/// different ranks, each of the unscaled ranks becomes the same number of neighbouring ranks.
class ScaledConfig {
 public:
  /// Loads the unscaled configuration. Throws UserError if load_config() refuses it, or if it does not train.
  explicit ScaledConfig(ScaleRequest request);

  /// Returns the configuration at `num_ranks`. Throws UserError if it cannot be scaled to that number (the error names
  /// the nearest possible ones), or if load_config() refuses the result.
  CheckedConfig<Config> at(int64_t num_ranks) const;

  /// Returns a smaller number of ranks that can be simulated in place of `num_ranks`: ranks have the same positions in
  /// model-parallel groups and the same work. Returns the largest such number up to `most` (raised to two model copies
  /// if smaller), else the smallest above `most`. Returns `num_ranks` if there is none, if `num_ranks` is at most
  /// `most`, or with keeps_batch.
  int64_t stand_in(int64_t num_ranks, int64_t most) const;
  /// Returns the rank among `num_ranks` ranks for which rank `rank` of `stand_in` ranks stands. `stand_in`: result of
  /// stand_in().
  int scaled_rank(int rank, int64_t stand_in, int64_t num_ranks) const;

 private:
  /// Returns the reason why `num_ranks` is impossible; "" if it is possible.
  std::string misfit(int64_t num_ranks) const;
  /// Returns the nearest possible numbers, such as "8 or 24".
  std::string nearest_numbers(int64_t num_ranks) const;
  /// Returns rollout_batch_size at `num_ranks`.
  int64_t batch_at(int64_t num_ranks) const;
  /// Returns the actor's data-parallel ranks at `num_ranks`.
  int64_t scaled_data_ranks(int64_t num_ranks) const;

  ScaleRequest request_;
  CheckedConfig<Config> base_;
  bool is_shared_;       // all roles live on all ranks
  int64_t model_ranks_;  // ranks that share a model; least common multiple over all roles
};

}  // namespace roll
