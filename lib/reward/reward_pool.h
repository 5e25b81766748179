// Worker threads that score responses while others are sampled. A reward that cannot be had follows on_reward_error: it
// counts as 0 (zero), as no verdict (drop: is_judged is false), or it is an error of the run (stop).
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
#include "reward/shared.h"

namespace roll {

/// Statistics of scoring.
struct RewardUse {
  int64_t num_scored = 0;
  double total_s = 0, longest_s = 0;  // of scoring a response, retries and a model's forward included
  int64_t most_waiting = 0;           // responses in the queue
};

class RewardPool {
 public:
  /// Starts args.world_size worker threads, each with its own RewardFunction. num_ranks: processes with such a pool of
  /// this domain, which share its limits. log: for warnings (SharedByWorkers). UserError as make_reward(),
  /// and as RewardFunction::prepare().
  RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where = "rewards.",
             int64_t num_ranks = 1, Log* log = nullptr);
  /// Drops what waits in the queue and joins the workers: waits for servers end at once, other work is bounded by the
  /// time limit.
  ~RewardPool();
  RewardPool(const RewardPool&) = delete;
  RewardPool& operator=(const RewardPool&) = delete;

  /// Queues responses, without waiting. Any thread. Returns their numbers, which are unique. Of a type that takes many
  /// at once, all that wait are asked together: each worker has an equal share of them, in order.
  std::vector<int64_t> submit(std::vector<RewardQuery> queries);
  int64_t submit(RewardQuery query);
  /// Whether the reward's type does so.
  bool takes_many() const { return rewards_.front()->takes_many(); }

  /// Waits for all responses that were submitted, and neither returned nor dropped since, and returns their results in
  /// order. Rethrows the error of the earliest response that failed.
  std::vector<RewardResult> collect();
  /// Returns the results of responses that are scored by now, by number, without waiting. Rethrows as collect().
  std::map<int64_t, RewardResult> take_done();
  /// Discards a response: its result, or error, is no longer wanted.
  void drop(int64_t number);

  /// As SharedByWorkers::note_answers().
  void note_answers() { shared_->note_answers(); }

  /// Returns the statistics since the last call.
  RewardUse take_use();

 private:
  struct Entry {
    RewardQuery query;
    RewardResult result{};
    std::exception_ptr error{};
    bool is_done = false, is_dropped = false;
  };
  void work(RewardFunction& reward);
  std::vector<int64_t> next(const RewardFunction& reward);
  void score(RewardFunction& reward, const std::vector<Entry*>& entries) const;
  void follow_policy(RewardResult& result) const;
  std::map<int64_t, RewardResult> take_done_locked();

  RewardErrorPolicy on_reward_error_;
  std::string where_;
  std::mutex mutex_;
  std::condition_variable work_to_do_, one_done_;
  std::map<int64_t, Entry> entries_;  // by number; an entry stays where it is while others come and go
  std::deque<int64_t> waiting_;
  int64_t num_submitted_ = 0;
  int64_t share_ = 1;  // of what waited when something came last, for one worker
  RewardUse use_;
  bool failed_ = false, ending_ = false;
  std::shared_ptr<SharedByWorkers> shared_;
  std::vector<std::unique_ptr<RewardFunction>> rewards_;
  std::vector<std::thread> threads_;
};

}  // namespace roll
