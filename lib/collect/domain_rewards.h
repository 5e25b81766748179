// The rewards of all domains: responses go in as they end, verdicts come out as they are made. Those that a model of
// this program has to see first (reward_models.h) are held until it has, those of a type that takes many at once until
// nothing is left to sample.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/log.h"
#include "reward/reward_pool.h"

namespace roll {

struct DomainReward {
  RewardArgs reward{};
  bool asks_model = false;  // of this program, which has to see a response first
};
using RewardsByDomain = std::map<std::string, DomainReward>;

class DomainRewards {
 public:
  /// `num_ranks`: processes that score. UserError: a reward that cannot be made.
  DomainRewards(const RewardsByDomain& rewards, int64_t response_length, int64_t num_ranks = 1, Log* log = nullptr);

  /// `response`: the caller's number for it.
  void submit(const std::string& domain, int64_t response, RewardQuery query);
  /// Whether responses of this domain are held.
  bool holds(const std::string& domain) const { return domains_.at(domain).is_held; }
  /// The responses that are held, by domain and response.
  std::map<std::string, std::map<int64_t, RewardQuery>>& held() { return held_; }
  /// Submits all that are held: nothing is left to sample, and models have seen them.
  void release();
  /// Whether some are not taken yet.
  bool is_open() const;
  /// What is there by now, by response. Rethrows a reward's error.
  std::map<int64_t, RewardResult> take_done();
  /// The results of all responses; waits for them. Rethrows a reward's error.
  std::map<int64_t, RewardResult> take_all();
  /// The response is wanted no more, if it is open.
  void drop(const std::string& domain, int64_t response);
  /// A response of the domain has been scored, on whatever rank.
  void note_answers(const std::string& domain) { domains_.at(domain).pool->note_answers(); }
  /// Of a domain, since the last call.
  RewardUse take_use(const std::string& domain) { return domains_.at(domain).pool->take_use(); }

 private:
  struct Domain {
    std::unique_ptr<RewardPool> pool;
    bool is_held = false;
    std::map<int64_t, int64_t> open{};  // the pool's number of a response -> the caller's
  };

  std::map<std::string, Domain> domains_;
  std::map<std::string, std::map<int64_t, RewardQuery>> held_;
};

}  // namespace roll
