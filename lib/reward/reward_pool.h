// Rewards are computed beside the generation: responses are handed in as they end, and worker threads score them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
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

  /// Hands in one response. Any thread. Does not wait.
  void submit(RewardQuery query);

  /// Waits, then gives the results of all responses handed in since the last collect(), in that order. Rethrows the
  /// error of the earliest response that failed.
  std::vector<RewardResult> collect();

 private:
  struct Entry {
    RewardQuery query;
    RewardResult result;
    std::exception_ptr error;
  };
  void work(RewardFunction& reward);
  void score(RewardFunction& reward, Entry& entry) const;

  std::mutex mutex_;
  std::condition_variable work_to_do_, all_done_;
  std::deque<Entry> entries_;  // a deque: entries stay where they are while more come
  size_t num_begun_ = 0, num_done_ = 0;
  bool failed_ = false, ending_ = false;
  std::vector<std::unique_ptr<RewardFunction>> rewards_;
  std::vector<std::thread> threads_;
};

}  // namespace roll
