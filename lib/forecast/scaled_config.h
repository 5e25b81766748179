// Scales a configuration to another number of ranks, for `--simulate`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/load_config.h"

namespace roll {

/// Arguments of ScaledConfig.
struct ScaleRequest {
  ConfigText text;                   // the unscaled configuration
  std::optional<int64_t> num_ranks;  // -n: number of ranks of the unscaled configuration
  bool keeps_batch = false;          // false: batch sizes grow with the actor's data-parallel ranks
};

/// A configuration at any number of ranks. If all roles share all ranks, they do so at every number; if roles have
/// different ranks, each of the unscaled ranks becomes the same number of neighbouring ranks.
class ScaledConfig {
 public:
  /// Throws UserError if load_config() refuses the unscaled configuration.
  explicit ScaledConfig(ScaleRequest request);

  /// Returns the configuration at `num_ranks`. Throws UserError if it cannot be scaled to that number (names the
  /// nearest possible ones), or if load_config() refuses the result.
  CheckedConfig<Config> at(int64_t num_ranks) const;

  /// Returns a smaller number of ranks whose configuration can stand for that at `num_ranks`, because ranks have the
  /// same positions in model-parallel groups and the same work: the largest such number up to `most` (at least two
  /// model replicas), else the smallest above. Returns `num_ranks` if there is none, if `num_ranks` is at most `most`,
  /// or with keeps_batch.
  int64_t stand_in(int64_t num_ranks, int64_t most) const;
  /// Returns the rank among `num_ranks` for which rank `rank` among `stand_in` ranks stands.
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
