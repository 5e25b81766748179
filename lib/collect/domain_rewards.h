// Scores the responses of this rank, for RolloutCoordinator. A response is submitted when its sampling ends. It is then
// queued, and worker threads score it while others are sampled; or it is held back until nothing is left to sample.
// Responses of a domain are held for one of two reasons. Either a model of this run must judge them before they can be
// scored (reward_models.h), or the domain's reward type is faster if it scores many at once. All functions are called
// by the sampler's thread.
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

/// Held responses of a domain, by the index that the caller gave to submit().
using HeldQueries = std::map<int64_t, RewardQuery>;

class DomainRewards {
 public:
  /// `response_length`: longest response in tokens, for length penalties. `num_ranks`: number of processes that score
  /// responses; limits on requests to servers are divided by it. `log`: for warnings; null: none. Throws UserError if a
  /// reward cannot be created from its settings.
  DomainRewards(const RewardsByDomain& rewards, int64_t response_length, int64_t num_ranks = 1, Log* log = nullptr);

  /// Queues a response for scoring, or holds it if holds(domain). `response`: index chosen by the caller, unique over
  /// all domains; results are returned under it.
  void submit(const std::string& domain, int64_t response, RewardQuery query);
  /// Returns true if responses of this domain are held until release().
  bool holds(const std::string& domain) const { return domains_.at(domain).is_held; }
  /// Returns all held responses, by domain. The caller may insert responses of domains that are held, and remove some.
  /// RewardModels stores its judgements in their queries.
  std::map<std::string, HeldQueries>& held() { return held_; }
  /// Queues all held responses for scoring. Call it when nothing is left to sample and the models have judged them.
  void release();
  /// Returns the results that are ready and not taken before, by the caller's index. Does not wait. Rethrows an
  /// exception that ended the scoring of a response.
  std::map<int64_t, RewardResult> take_done();
  /// Waits until all queued responses are scored, then does the same as take_done(). Held responses are left out.
  std::map<int64_t, RewardResult> take_all();
  /// Discards a response, held or queued, that is no longer needed. Does nothing if there is no such response, or if
  /// its result was taken.
  void drop(const std::string& domain, int64_t response);
  /// Records that the servers and programs which score this domain have answered. Call it on every rank once any rank
  /// has got a reward of the domain. Later failures then count as temporary, not as a wrong setting.
  void mark_services_answered(const std::string& domain) { domains_.at(domain).pool->mark_services_answered(); }
  /// Returns numbers and times of the scoring of this domain's responses on this rank since the last call.
  RewardUse take_statistics(const std::string& domain) { return domains_.at(domain).pool->take_statistics(); }

 private:
  struct Domain {
    std::unique_ptr<RewardPool> pool;
    bool is_held = false;
    std::map<int64_t, int64_t> submitted{};  // pool's index of a queued response -> caller's index
  };

  std::map<std::string, Domain> domains_;
  std::map<std::string, HeldQueries> held_;
};

}  // namespace roll
