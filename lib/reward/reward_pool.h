// Scores the responses of one domain on this rank in worker threads, while other responses are sampled. The key
// on_reward_error decides about failed rewards (reward.h):
//   zero  they count as 0
//   drop  the result has is_judged == false
//   stop  collect() or take_done() throws UserError, which ends the run
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

/// Statistics of scoring on this rank, for metrics. The time of a response includes retries and RewardQuery::model_s.
/// Each response of a batch counts with the batch's time / its size.
struct RewardUse {
  int64_t num_scored = 0;    // responses
  double total_s = 0;        // seconds, summed over the responses
  double longest_s = 0;      // seconds of the slowest response
  int64_t most_waiting = 0;  // longest queue, in responses
};

/// Thread-safe. A submitted response stays in the pool until collect() or take_done() returns it, or drop() removes it.
class RewardPool {
 public:
  /// Starts args.world_size worker threads, each with its own RewardFunction. `response_length`, `where`: as for
  /// make_reward(). `num_ranks`: number of processes with a pool for this domain, which share its rate limits evenly.
  /// `log`: for warnings, must outlive this object; nullptr: no warnings. Throws UserError like make_reward() and
  /// RewardFunction::prepare().
  RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where = "rewards.",
             int64_t num_ranks = 1, Log* log = nullptr);
  /// Discards waiting responses and joins the workers. Waits for servers end at once, other work after timeout_s at the
  /// latest.
  ~RewardPool();
  RewardPool(const RewardPool&) = delete;
  RewardPool& operator=(const RewardPool&) = delete;

  /// Queues responses and returns at once a unique, ascending number for each, in order. A worker takes one response at
  /// a time; if takes_many(), it takes its share: the queue's length / the number of workers, at most 1024.
  std::vector<int64_t> submit(std::vector<RewardQuery> queries);
  int64_t submit(RewardQuery query);
  /// Returns whether the reward handles many responses at once, so that it pays to submit many.
  bool takes_many() const { return rewards_.front()->takes_many(); }

  /// Waits until all responses in the pool are scored, and returns their results in order of submission. If scoring
  /// threw for any response, rethrows the earliest response's exception; the results are then lost.
  std::vector<RewardResult> collect();
  /// Returns the results, by number, of the responses that are scored already, without waiting. Rethrows exceptions as
  /// collect() does.
  std::map<int64_t, RewardResult> take_done();
  /// Discards a response, with its result or exception; ignores numbers that are not in the pool.
  void drop(int64_t number);

  /// Tells the workers that some process got rewards for this domain (SharedByWorkers::mark_services_answered()).
  void mark_services_answered() { shared_->mark_services_answered(); }

  /// Returns the statistics since the last call, and resets them.
  RewardUse take_statistics();

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
