// Scores the responses of this rank, for RolloutCoordinator: a response is submitted when it ends, and worker threads
// score it while others are sampled. Responses of some domains are held back until nothing is left to sample. A model
// of this run must judge them first (reward_models.h), or their reward type scores many at once. All functions are
// called by the sampler's thread.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "reward/reward_pool.h"

namespace roll {

/// Settings of a domain's reward.
struct DomainReward {
  RewardArgs reward{};
  bool asks_model = false;  // a model of this run must judge each response before the reward scores it
};
using RewardsByDomain = std::map<std::string, DomainReward>;

/// Responses of a domain that are not submitted yet, by the caller's index.
using HeldQueries = std::map<int64_t, RewardQuery>;

class DomainRewards {
 public:
  /// `response_length`: longest response in tokens, for length penalties. `num_ranks`: number of processes that score
  /// responses; limits on requests to servers are divided by it. `log`: for warnings; null: none. Throws UserError if a
  /// reward cannot be created from its settings.
  DomainRewards(const RewardsByDomain& rewards, int64_t response_length, int64_t num_ranks = 1, Log* log = nullptr);

  /// Queues a response for scoring, or holds it back if holds(domain). `response`: index chosen by the caller, unique
  /// over all domains; results are returned under it.
  void submit(const std::string& domain, int64_t response, RewardQuery query);
  /// Returns true if responses of this domain are held back until release().
  bool holds(const std::string& domain) const { return domains_.at(domain).is_held; }
  /// Returns the held responses, by domain. The caller may store judgements in them, add to them and remove them.
  std::map<std::string, HeldQueries>& held() { return held_; }
  /// Submits all held responses. Call it when nothing is left to sample and the models have judged them.
  void release();
  /// Returns true if results of submitted responses have not been taken yet.
  bool is_open() const;
  /// Returns the results that are ready and not taken before, by the caller's index. Does not wait. Rethrows an
  /// exception that ended the scoring of a response.
  std::map<int64_t, RewardResult> take_done();
  /// Waits for all submitted responses, then does the same as take_done().
  std::map<int64_t, RewardResult> take_all();
  /// Discards a response, held or submitted, that is no longer needed.
  void drop(const std::string& domain, int64_t response);
  /// Records that some rank (maybe another one) got a reward of this domain. Its server or program works, so later
  /// failures count as temporary, not as a wrong setting.
  void mark_all_answered(const std::string& domain) { domains_.at(domain).pool->mark_all_answered(); }
  /// Returns the scoring statistics of this rank for a domain since the last call.
  RewardUse take_use(const std::string& domain) { return domains_.at(domain).pool->take_use(); }

 private:
  struct Domain {
    std::unique_ptr<RewardPool> pool;
    bool is_held = false;
    std::map<int64_t, int64_t> submitted{};  // pool's index of a response -> caller's index
  };

  std::map<std::string, Domain> domains_;
  std::map<std::string, HeldQueries> held_;
};

}  // namespace roll
