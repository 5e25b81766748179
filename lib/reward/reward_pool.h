// Rewards are computed beside the generation: responses are handed in as they end, and worker threads score them. One
// that cannot be had follows on_reward_error: it counts as 0 (zero), as no verdict (drop: is_judged is false), or it is
// an error of the run (stop).
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "reward/reward.h"
#include "reward/shared.h"

namespace roll {

/// What scoring took.
struct RewardUse {
  int64_t num_scored = 0;
  double total_s = 0, longest_s = 0;  // from the hand-in's turn to its verdict, retries and a model's pass included
  int64_t most_waiting = 0;           // handed in and not yet begun
};

class RewardPool {
 public:
  /// Starts args.world_size worker threads, each with its own RewardFunction. num_ranks: processes with such a pool of
  /// this domain, which share its limits. log: what cannot wait for a result is said there. UserError as make_reward(),
  /// and as RewardFunction::prepare().
  RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where = "rewards.",
             int64_t num_ranks = 1, Log* log = nullptr);
  /// Drops what is not yet begun and waits for what is: what waits for a server gives up at once, the rest is bounded
  /// by the time limit.
  ~RewardPool();
  RewardPool(const RewardPool&) = delete;
  RewardPool& operator=(const RewardPool&) = delete;

  /// Hands in one response. Any thread. Does not wait. Gives the response's number, which is never another's.
  int64_t submit(RewardQuery query);

  /// Waits, then gives the results of all responses that were handed in and neither given nor dropped, in that order.
  /// Rethrows the error of the earliest response that failed.
  std::vector<RewardResult> collect();
  /// The same for those that are scored by now, by number; does not wait.
  std::map<int64_t, RewardResult> take_done();
  /// The response's result, or error, is wanted no more.
  void drop(int64_t number);

  /// A response of the domain has been scored in another process: what refuses a question from now on may pass.
  void note_answers() { shared_->note_answers(); }

  /// Since the last call.
  RewardUse take_use();

 private:
  struct Entry {
    RewardQuery query;
    RewardResult result{};
    std::exception_ptr error{};
    bool is_done = false, is_dropped = false;
  };
  void work(RewardFunction& reward);
  void score(RewardFunction& reward, Entry& entry) const;
  void follow_policy(RewardResult& result) const;
  std::map<int64_t, RewardResult> take_done_locked();

  RewardErrorPolicy on_reward_error_;
  std::string where_;
  std::mutex mutex_;
  std::condition_variable work_to_do_, one_done_;
  std::map<int64_t, Entry> entries_;  // by number; an entry stays where it is while others come and go
  std::deque<int64_t> waiting_;
  int64_t num_submitted_ = 0;
  RewardUse use_;
  bool failed_ = false, ending_ = false;
  std::shared_ptr<SharedByWorkers> shared_;
  std::vector<std::unique_ptr<RewardFunction>> rewards_;
  std::vector<std::thread> threads_;
};

}  // namespace roll
