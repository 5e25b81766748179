#include "reward/reward_pool.h"

#include <utility>

namespace roll {

RewardPool::RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where) {
  for (int64_t i = 0; i < args.world_size; ++i) rewards_.push_back(make_reward(args, response_length, where));
  for (auto& reward : rewards_) reward->prepare();
  for (auto& reward : rewards_) threads_.emplace_back([this, &reward] { work(*reward); });
}

RewardPool::~RewardPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_to_do_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void RewardPool::submit(RewardQuery query) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back({std::move(query), {}, nullptr});
  }
  work_to_do_.notify_one();
}

void RewardPool::work(RewardFunction& reward) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_to_do_.wait(lock, [this] { return ending_ || num_begun_ < entries_.size(); });
    if (ending_) return;
    Entry& entry = entries_[num_begun_++];
    const bool skip = failed_;  // an earlier response failed: its error ends the run, so no more work is wanted
    lock.unlock();
    if (!skip) score(reward, entry);
    lock.lock();
    failed_ = failed_ || entry.error;
    if (++num_done_ == entries_.size()) all_done_.notify_all();
  }
}

void RewardPool::score(RewardFunction& reward, Entry& entry) const {
  try {
    entry.result = reward.score(entry.query);
  } catch (...) {
    entry.error = std::current_exception();
  }
}

std::vector<RewardResult> RewardPool::collect() {
  std::unique_lock lock(mutex_);
  all_done_.wait(lock, [this] { return num_done_ == entries_.size(); });
  std::deque<Entry> entries = std::exchange(entries_, {});
  num_begun_ = num_done_ = 0, failed_ = false;
  lock.unlock();
  std::vector<RewardResult> results;
  for (Entry& entry : entries) {
    if (entry.error) std::rethrow_exception(entry.error);
    results.push_back(std::move(entry.result));
  }
  return results;
}

}  // namespace roll
