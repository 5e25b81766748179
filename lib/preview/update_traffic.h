// What the ranks of a trained role send each other for an update, beside what its models say (train/updates.cpp,
// optim/learner.cpp).
#pragma once

#include "model/spec.h"
#include "optim/flat_layout.h"
#include "preview/traffic_forecast.h"
#include "settings/config.h"

namespace roll {

/// The groups of a trained role, seen by one of its ranks.
struct TrainerGroups {
  Group all, dp, tp, shards;
};

class UpdateTraffic {
 public:
  /// `parameters`: of the whole model. `shards`: ranks that hold the same weights. `element`: bytes of a weight.
  UpdateTraffic(const Config& config, const WorkerConfig& worker, const std::vector<ParameterShape>& parameters,
                int64_t shards, int64_t element, Path path);

  /// One update of a step of `num_groups` prompts, by tensor rank `groups.tp.own.index`.
  void add(PhaseTraffic& traffic, const TrainerGroups& groups, int64_t num_groups) const;

 private:
  struct Own {
    std::vector<FlatParameter> parts;  // that are trained
    std::vector<int64_t> whole;        // [parts] elements of the parameter; 0: each rank has all of it
    FlatLayout layout;
  };
  void sum_copies(PhaseTraffic& traffic, const Group& tp, const Own& own, const Bucket& bucket) const;

  const std::vector<std::string>& loss_mask_keys_;
  bool shares_;
  int64_t element_;
  Path path_;
  std::vector<Own> of_tensor_rank_;
};

}  // namespace roll
