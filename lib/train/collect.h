// Prompts -> scored responses: every group of ranks that shares the sampler's weights samples its share, rewards start
// as each response ends, all ranks get all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "data/rows.h"
#include "dist/mesh.h"
#include "model/transformer.h"
#include "rollout/sampler.h"
#include "settings/config.h"
#include "text/tokenizer.h"
#include "train/rollout_record.h"

namespace roll {

struct CollectRequest {
  std::vector<const Row*> rows;
  int64_t num_samples = 1;  // responses per row
  int64_t step = 0;
  int64_t first_group = 0;  // group_index of the first row; names its random numbers too
  SamplingParams sampling;
  std::string phase = "generate";  // of the progress line
};

struct CollectTimes {
  double generate_s = 0;  // until this rank's last response
  double rewards_s = 0;   // waiting for rewards after that
};

class Collector {
 public:
  /// UserError: a reward that cannot be made.
  Collector(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length, Mesh& mesh, Log& log);
  ~Collector();

  /// All records of the request, group after group, the same on every rank. Random numbers are named by the group and
  /// sample, so the responses do not depend on the number of ranks. `actor` is the sampler's: its tensor ranks draw the
  /// same tokens in lock-step. **Collective**. Stopped when a signal came.
  std::vector<RolloutRecord> collect(const Transformer& actor, const Tokenizer& tokenizer,
                                     const CollectRequest& request, CollectTimes* times = nullptr);

 private:
  bool is_stop_wished();

  struct Rewards;
  Mesh& mesh_;
  Log& log_;
  std::unique_ptr<Rewards> rewards_;
};

/// Groups that the domain's query_filter_config keeps; `records` in data order, groups of `group_size`.
std::vector<RolloutRecord> keep_useful_groups(const std::vector<RolloutRecord>& records, int64_t group_size,
                                              const std::map<std::string, RewardWorkerConfig>& rewards);

}  // namespace roll
