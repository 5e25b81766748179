#include "reward/reward_pool.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

RewardPool::RewardPool(const RewardArgs& args, int64_t response_length, const std::string& where, int64_t num_ranks,
                       Log* log)
    : on_reward_error_(args.on_reward_error),
      where_(where),
      shared_(std::make_shared<SharedByWorkers>(num_ranks, log)) {
  for (int64_t i = 0; i < args.world_size; ++i) rewards_.push_back(make_reward(args, response_length, where, shared_));
  for (auto& reward : rewards_) reward->prepare();
  for (auto& reward : rewards_) threads_.emplace_back([this, &reward] { work(*reward); });
}

RewardPool::~RewardPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  shared_->ending.cancel();
  work_to_do_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

int64_t RewardPool::submit(RewardQuery query) {
  const std::lock_guard lock(mutex_);
  const int64_t number = num_submitted_++;
  entries_[number].query = std::move(query);
  waiting_.push_back(number);
  use_.most_waiting = std::max(use_.most_waiting, std::ssize(waiting_));
  work_to_do_.notify_one();
  return number;
}

void RewardPool::work(RewardFunction& reward) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_to_do_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const int64_t number = waiting_.front();
    waiting_.pop_front();
    Entry& entry = entries_.at(number);
    const bool skip = failed_;  // an earlier response failed: its error ends the run, so no more work is wanted
    lock.unlock();
    const Stopwatch watch;
    if (!skip) score(reward, entry);
    const double took_s = watch.seconds() + entry.query.model_s;
    lock.lock();
    entry.is_done = true;
    if (!skip) {
      ++use_.num_scored;
      use_.total_s += took_s;
      use_.longest_s = std::max(use_.longest_s, took_s);
    }
    failed_ = failed_ || (entry.error && !entry.is_dropped);
    if (failed_) shared_->ending.cancel();
    if (entry.is_dropped) entries_.erase(number);
    one_done_.notify_all();
  }
}

void RewardPool::score(RewardFunction& reward, Entry& entry) const {
  try {
    entry.result = reward.score(entry.query);
    follow_policy(entry.result);
  } catch (...) {
    entry.error = std::current_exception();
  }
}

void RewardPool::follow_policy(RewardResult& result) const {
  if (!failure_of(result.detail)) return;
  if (on_reward_error_ == RewardErrorPolicy::kStop) {
    RewardFaults faults;
    faults.add(result.detail);
    throw user_error("{}on_reward_error = stop: of the rewards, {}; mend what judges, or set this to drop or zero",
                     where_, faults.text());
  }
  result.is_judged = on_reward_error_ != RewardErrorPolicy::kDrop;
}

std::vector<RewardResult> RewardPool::collect() {
  std::unique_lock lock(mutex_);
  one_done_.wait(lock, [this] {
    return std::ranges::all_of(entries_,
                               [](const auto& entry) { return entry.second.is_done || entry.second.is_dropped; });
  });
  std::vector<RewardResult> results;
  for (auto& [number, result] : take_done_locked()) results.push_back(std::move(result));
  return results;
}

std::map<int64_t, RewardResult> RewardPool::take_done() {
  const std::lock_guard lock(mutex_);
  return take_done_locked();
}

std::map<int64_t, RewardResult> RewardPool::take_done_locked() {
  std::map<int64_t, RewardResult> results;
  std::exception_ptr error;
  for (auto& [number, entry] : entries_) {
    if (!entry.is_done) continue;
    if (entry.error && !error) error = entry.error;
    results[number] = std::move(entry.result);
  }
  for (const auto& [number, result] : results) entries_.erase(number);
  if (error) {
    failed_ = false;
    if (!ending_) shared_->ending.reset();
    std::rethrow_exception(error);
  }
  return results;
}

RewardUse RewardPool::take_use() {
  const std::lock_guard lock(mutex_);
  return std::exchange(use_, {});
}

void RewardPool::drop(int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(number);
  if (entry == entries_.end()) return;
  if (entry->second.is_done || std::erase(waiting_, number) > 0)
    entries_.erase(entry);
  else
    entry->second.is_dropped = true;  // it is being scored
}

}  // namespace roll
