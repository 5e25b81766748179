// Times, sampler counts and reward failures of one rollout job (a step or a validation), and their metrics. Used by
// RolloutWorker on the ranks that sample.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "dist/mesh.h"
#include "records/rollout_record.h"
#include "reward/reward.h"
#include "reward/reward_pool.h"
#include "rollout/sampler.h"
#include "track/metrics.h"

namespace roll {

/// Numbers of responses of one domain, over all ranks.
struct RewardedResponses {
  int64_t total = 0;
  int64_t rewarded = 0;             // the reward did not fail
  int64_t without_environment = 0;  // the environment failed
};

/// Statistics of one rollout job. It may consist of several engine runs, whose numbers add up. A rank group is the set
/// of tensor-parallel ranks that hold one copy of the sampler's model; its first rank is the leader.
struct RolloutStatistics {
  double generate_s = 0;                       // seconds in which this rank had something to sample
  double wait_s = 0;                           // seconds of waiting for other rank groups, with nothing to sample
  double rewards_s = 0;                        // seconds of waiting for rewards, with nothing to sample
  SamplerCounts counts;                        // sums over rank groups; most_pages and num_pages: maxima
  std::map<std::string, RewardFaults> faults;  // failed rewards by domain, over all ranks
  std::map<std::string, int64_t> retries;      // retries of rewards by domain, over all ranks
  std::map<std::string, RewardUse> use;        // times and queue lengths of rewards by domain, over all ranks

  /// Adds the sampler counts of an engine run over all rank groups. `local`: counts of this rank's group; only its
  /// leader's are summed. `mesh`: of the sampler. **Collective** over the sampler's ranks.
  void add_counts(const SamplerCounts& local, Mesh& mesh);
  /// Adds failures, retries and usage of a domain's rewards over all ranks, and returns the numbers of the domain's
  /// responses. `local`: this rank's records of all domains. `local_use`: this rank's use of the domain's reward.
  /// **Collective** over the sampler's ranks.
  RewardedResponses add_rewards(const std::string& domain, const std::vector<RolloutRecord>& local,
                                const RewardUse& local_use, Mesh& mesh);

  /// Adds the job's metrics:
  /// - times in seconds: time/step_{generate,generate_wait,rewards}
  /// - numbers of rewards, in all and by domain (<domain>/...): reward/{timeouts,errors,errors/<kind>,retries}
  /// - only by domain: <domain>/reward/seconds/{mean,max} (per response, retries included) and <domain>/reward/waiting
  ///   (most responses that waited for a worker at once)
  /// - sampler: rollout/tokens_per_s, rollout/slots_busy (share of slots in use, over all sampler steps),
  ///   rollout/kv_pages_used (largest share at once), rollout/prefix_hits (share of prompt tokens from the prefix
  ///   cache), rollout/evictions
  void add_to(Metrics& metrics) const;
};

}  // namespace roll
