// Prompts -> scored responses: every group of ranks that shares the sampler's weights samples its share, rewards start
// as each response ends, all ranks get all.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/random.h"
#include "data/rows.h"
#include "dist/mesh.h"
#include "reward/reward_pool.h"
#include "rollout/engine.h"
#include "settings/config.h"
#include "text/tokenizer.h"
#include "track/metrics.h"
#include "train/rollout_record.h"

namespace roll {

struct CollectRequest {
  std::vector<const Row*> rows{};
  int64_t num_samples = 1;  // responses per row
  int64_t step = 0;
  int64_t first_group = 0;  // group_index of the first row; names its random numbers too
  SamplingParams sampling{};
  std::string phase = "generate";  // of the progress line
  bool may_stop = true;            // a wish to stop ends it
};

/// What sampling needs at most, in training and validation, for `most_requests` at once.
EngineLimits engine_limits(const Config& config, int64_t most_requests);

/// How the configuration samples: training by actor_infer.generating_args, validation by its own.
SamplingParams sampling_params(const Config& config, const Tokenizer& tokenizer, Purpose purpose, int64_t step);

/// What collecting took, and which rewards failed.
struct CollectStatistics {
  double model_update_s = 0;                   // until the sampler had the policy's weights
  double generate_s = 0;                       // until this rank's last response
  double wait_s = 0;                           // for the other ranks' last
  double rewards_s = 0;                        // waiting for rewards after that
  SamplerCounts counts;                        // of all ranks, most_pages of the one that held most
  std::map<std::string, RewardFaults> faults;  // by domain, of all ranks

  /// time/step_model_update, time/step_generate, time/step_generate_wait, time/step_rewards; reward/timeouts,
  /// reward/errors, each also as <domain>/...; and of the sampler rollout/tokens_per_s, rollout/slots_busy (share of
  /// slots, over all steps), rollout/kv_pages_used (the most at once, as a share), rollout/prefix_hits (share of prompt
  /// tokens that others had computed), rollout/evictions.
  void add_to(Metrics& metrics) const;
};

class Collector {
 public:
  /// UserError: a reward that cannot be made.
  Collector(const std::map<std::string, RewardWorkerConfig>& rewards, int64_t response_length, Mesh& mesh, Log& log);

  /// All records of the request, group after group, the same on every rank. Random numbers are named by the group and
  /// sample, so the responses do not depend on the number of ranks. The engine's tensor ranks draw the same
  /// tokens in lock-step. Adds to `statistics`. **Collective**. Stopped, on all ranks, when one was asked to. Warns
  /// once per domain and step of the rewards that failed on this rank.
  std::vector<RolloutRecord> collect(Engine& engine, const Tokenizer& tokenizer, const CollectRequest& request,
                                     CollectStatistics& statistics);

 private:
  void take_rewards(const std::map<std::string, std::vector<size_t>>& submitted, std::vector<RolloutRecord>& records,
                    int64_t step);

  Mesh& mesh_;
  Log& log_;
  std::map<std::string, std::unique_ptr<RewardPool>> rewards_;  // by domain
  std::map<std::string, int64_t> warned_;                       // the last step, by domain
};

/// All records of the world's ranks, in data order. **Collective**.
std::vector<RolloutRecord> exchange_rollouts(std::vector<RolloutRecord> mine, Communicator& world);

}  // namespace roll
