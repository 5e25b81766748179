// Times, sampler counts and reward failures of a rollout job, for RolloutWorker, and their metrics.
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

/// Responses of one domain, on all ranks.
struct RewardedResponses {
  int64_t total = 0;
  int64_t rewarded = 0;
  int64_t without_environment = 0;  // environment failed
};

/// Statistics of one rollout job.
struct RolloutStatistics {
  double generate_s = 0;                       // seconds in which this rank had something to sample
  double wait_s = 0;                           // seconds in which only other ranks had
  double rewards_s = 0;                        // waiting for rewards, with nothing to sample
  SamplerCounts counts;                        // sums over ranks; most_pages: the largest
  std::map<std::string, RewardFaults> faults;  // by domain, over all ranks
  std::map<std::string, int64_t> retries;      // by domain, over all ranks
  std::map<std::string, RewardUse> use;        // by domain, over all ranks

  /// Adds the sampler counts of all rank groups. `local`: this group's counts. **Collective** over the sampler's ranks.
  void add_counts(const SamplerCounts& local, Mesh& mesh);
  /// Adds failures, retries and usage of a domain's rewards over all ranks. `local`: this rank's records of all
  /// domains.
  /// **Collective** over the sampler's ranks.
  RewardedResponses add_rewards(const std::string& domain, const std::vector<RolloutRecord>& local,
                                const RewardUse& local_use, Mesh& mesh);

  /// Adds time/step_{generate,generate_wait,rewards}; reward/{timeouts,errors,retries}, each also as <domain>/...;
  /// <domain>/reward/seconds/{mean,max} (per response, retries included) and <domain>/reward/waiting (most responses
  /// that waited for a worker at once); and of the sampler rollout/tokens_per_s, rollout/slots_busy (share of slots
  /// over all steps), rollout/kv_pages_used (largest share at once), rollout/prefix_hits (share of prompt tokens from
  /// the prefix cache), rollout/evictions.
  void add_to(Metrics& metrics) const;
};

}  // namespace roll
