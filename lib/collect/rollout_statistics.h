// What it took to collect the responses of a step, as its metrics.
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
  int64_t all = 0;
  int64_t rewarded = 0;
  int64_t without_environment = 0;  // it failed
};

/// What collecting took, and which rewards failed.
struct RolloutStatistics {
  double generate_s = 0;                       // while this rank had something to sample
  double wait_s = 0;                           // while only others had
  double rewards_s = 0;                        // for rewards, while nothing was to be sampled
  SamplerCounts counts;                        // of all ranks, most_pages of the one that held most
  std::map<std::string, RewardFaults> faults;  // by domain, of all ranks
  std::map<std::string, int64_t> retries;      // likewise
  std::map<std::string, RewardUse> use;        // likewise

  /// Adds what the sampler did on all groups of ranks, of which `mine` is this one's. **Collective** over the sampler's
  /// ranks.
  void add_counts(const SamplerCounts& mine, Mesh& mesh);
  /// Adds failures, retries and use of a domain's rewards on all ranks: `mine` are this rank's records of all domains.
  RewardedResponses add_rewards(const std::string& domain, const std::vector<RolloutRecord>& mine,
                                const RewardUse& of_mine, Mesh& mesh);

  /// time/step_generate, time/step_generate_wait, time/step_rewards; reward/timeouts,
  /// reward/errors, reward/retries, each also as <domain>/...; <domain>/reward/seconds/{mean,max} (of one response, its
  /// retries included) and <domain>/reward/waiting (the most that waited for a worker at once); and of the sampler
  /// rollout/tokens_per_s, rollout/slots_busy (share of slots, over all steps), rollout/kv_pages_used (the most at
  /// once, as a share), rollout/prefix_hits (share of prompt tokens that others had computed), rollout/evictions.
  void add_to(Metrics& metrics) const;
};

}  // namespace roll
