// A configuration at another number of ranks than it was written for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "settings/load_config.h"

namespace roll {

struct ScaleRequest {
  ConfigText text;
  std::optional<int64_t> num_ranks;  // of the text as it is: -n
  bool keeps_batch = false;          // else rollout_batch_size grows with the actor's data-parallel ranks
};

/// Where all roles live on all ranks, they do so at any number; where they are apart, each rank stands for as many.
class ScaledConfig {
 public:
  /// UserError: load_config()'s, of the text as it is.
  explicit ScaledConfig(ScaleRequest request);

  /// At `num_ranks`. UserError: they cannot be cut so, and which number near it can; load_config()'s.
  CheckedConfig<Config> at(int64_t num_ranks) const;

  /// The largest number of ranks, up to `most`, whose ranks have the same places and work as those of `num_ranks`, and
  /// so can stand for them; else the smallest above. `num_ranks` itself where it is no more, or where there is none.
  int64_t stand_in(int64_t num_ranks, int64_t most) const;
  /// Which of `num_ranks` ranks a rank of `stand_in` stands for, beside itself.
  int rank_of(int rank, int64_t stand_in, int64_t num_ranks) const;

 private:
  /// Why not, or "".
  std::string misfit(int64_t num_ranks) const;
  std::string near(int64_t num_ranks) const;
  int64_t batch_at(int64_t num_ranks) const;
  /// Of actor_train, times those of the file as it is.
  int64_t scaled_data_ranks(int64_t num_ranks) const;

  ScaleRequest request_;
  CheckedConfig<Config> base_;
  bool is_shared_;       // all roles live on all ranks
  int64_t model_ranks_;  // least common multiple of all roles'
};

}  // namespace roll
