// Worker threads that score responses while others are sampled. on_reward_error decides about failed rewards: they
// count as 0 (zero), have no verdict (drop: is_judged is false), or end the run (stop).
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

/// Statistics of scoring, for metrics.
struct RewardUse {
  int64_t num_scored = 0;
  double total_s = 0, longest_s = 0;  // seconds per response, with retries and model forward
  int64_t most_waiting = 0;           // longest queue, in responses
};

class RewardPool {
 public:
  /// Starts args.world_size worker threads, each with its own RewardFunction. `num_ranks`: processes with a pool for
  /// this domain, which share its rate limits. `log`: for warnings (SharedByWorkers). UserError: as for make_reward()
  /// and RewardFunction::prepare().
  RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where = "rewards.",
             int64_t num_ranks = 1, Log* log = nullptr);
  /// Drops the queue and joins the workers: waits for servers end at once, other work within the time limit.
  ~RewardPool();
  RewardPool(const RewardPool&) = delete;
  RewardPool& operator=(const RewardPool&) = delete;

  /// Queues responses without waiting, from any thread, and returns their unique numbers. If the type takes many at
  /// once, waiting responses are batched: each worker gets an equal share of the queue, in order.
  std::vector<int64_t> submit(std::vector<RewardQuery> queries);
  int64_t submit(RewardQuery query);
  /// Returns whether the type takes many responses at once.
  bool takes_many() const { return rewards_.front()->takes_many(); }

  /// Waits for all submitted responses that were neither returned nor dropped, and returns their results in order.
  /// Rethrows the error of the earliest response that failed.
  std::vector<RewardResult> collect();
  /// Returns the results of the responses scored so far, by number, without waiting. Rethrows as collect() does.
  std::map<int64_t, RewardResult> take_done();
  /// Discards a response, with its result or error.
  void drop(int64_t number);

  /// Calls SharedByWorkers::note_answers().
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
  std::map<int64_t, Entry> entries_;  // by number; a map, so that entries keep their addresses
  std::deque<int64_t> waiting_;
  int64_t num_submitted_ = 0;
  int64_t share_ = 1;  // batch size per worker, from the queue at the last submit()
  RewardUse use_;
  bool failed_ = false, ending_ = false;
  std::shared_ptr<SharedByWorkers> shared_;
  std::vector<std::unique_ptr<RewardFunction>> rewards_;
  std::vector<std::thread> threads_;
};

}  // namespace roll
