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

#include "reward/reward.h"

namespace roll {

class RewardPool {
 public:
  /// Starts args.world_size worker threads, each with its own RewardFunction. UserError as make_reward(),
  /// and as RewardFunction::prepare().
  RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where = "rewards.");
  /// Drops what is not yet begun and waits for what is (each bounded by the time limit).
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
  bool failed_ = false, ending_ = false;
  std::vector<std::unique_ptr<RewardFunction>> rewards_;
  std::vector<std::thread> threads_;
};

}  // namespace roll
