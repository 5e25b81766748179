// Rewards of all domains, for RolloutCoordinator: responses go in as they end, results come out as they are computed. A
// response is held back if a model of this program must judge it first (reward_models.h), or if its reward type scores
// many at once; held responses are submitted when nothing is left to sample.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "reward/reward_pool.h"

namespace roll {

struct DomainReward {
  RewardArgs reward{};
  bool asks_model = false;  // a model of this program must judge responses first
};
using RewardsByDomain = std::map<std::string, DomainReward>;

class DomainRewards {
 public:
  /// `num_ranks`: processes that score responses. UserError: a reward cannot be created from its settings.
  DomainRewards(const RewardsByDomain& rewards, int64_t response_length, int64_t num_ranks = 1, Log* log = nullptr);

  /// Submits or holds back a response. `response`: the caller's index for it.
  void submit(const std::string& domain, int64_t response, RewardQuery query);
  /// Returns true if responses of this domain are held back.
  bool holds(const std::string& domain) const { return domains_.at(domain).is_held; }
  /// Held responses, by domain and response.
  std::map<std::string, std::map<int64_t, RewardQuery>>& held() { return held_; }
  /// Submits all held responses. Call it when nothing is left to sample and the models have judged them.
  void release();
  /// Returns true if results of submitted responses have not been taken yet.
  bool is_open() const;
  /// Returns the results that are ready, by response. Rethrows a reward's error.
  std::map<int64_t, RewardResult> take_done();
  /// Waits for all submitted responses and returns their results. Rethrows a reward's error.
  std::map<int64_t, RewardResult> take_all();
  /// Discards a response, held or submitted, that is no longer needed.
  void drop(const std::string& domain, int64_t response);
  /// Records that some rank got a reward of this domain.
  void note_answers(const std::string& domain) { domains_.at(domain).pool->note_answers(); }
  /// Returns the usage of a domain's reward since the last call.
  RewardUse take_use(const std::string& domain) { return domains_.at(domain).pool->take_use(); }

 private:
  struct Domain {
    std::unique_ptr<RewardPool> pool;
    bool is_held = false;
    std::map<int64_t, int64_t> submitted{};  // pool's index of a response -> caller's index
  };

  std::map<std::string, Domain> domains_;
  std::map<std::string, std::map<int64_t, RewardQuery>> held_;
};

}  // namespace roll
