#include "reward/reward_pool.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/error.h"

namespace roll {

namespace {

constexpr int64_t kMostAtOnce = 1024;  // responses per batch, so that their answers fit into a line

}  // namespace

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

std::vector<int64_t> RewardPool::submit(std::vector<RewardQuery> queries) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> numbers;
  for (RewardQuery& query : queries) {
    numbers.push_back(num_submitted_++);
    entries_[numbers.back()].query = std::move(query);
    waiting_.push_back(numbers.back());
  }
  use_.most_waiting = std::max(use_.most_waiting, std::ssize(waiting_));
  const auto num_workers = std::ssize(rewards_);
  share_ = std::clamp((std::ssize(waiting_) + num_workers - 1) / num_workers, int64_t{1}, kMostAtOnce);
  numbers.size() == 1 ? work_to_do_.notify_one() : work_to_do_.notify_all();
  return numbers;
}

int64_t RewardPool::submit(RewardQuery query) {
  std::vector<RewardQuery> queries;
  queries.push_back(std::move(query));
  return submit(std::move(queries)).front();
}

/// Takes the numbers of the next batch for `reward` off the queue.
std::vector<int64_t> RewardPool::next(const RewardFunction& reward) {
  const int64_t most = reward.takes_many() ? std::min(share_, std::ssize(waiting_)) : 1;
  const std::vector<int64_t> numbers(waiting_.begin(), waiting_.begin() + most);
  waiting_.erase(waiting_.begin(), waiting_.begin() + most);
  return numbers;
}

void RewardPool::work(RewardFunction& reward) {
  std::unique_lock lock(mutex_);
  while (true) {
    work_to_do_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
    if (ending_) return;
    const std::vector<int64_t> numbers = next(reward);
    std::vector<Entry*> entries;
    for (const int64_t number : numbers) entries.push_back(&entries_.at(number));
    const bool skip = failed_;  // an earlier response failed, which ends the run
    lock.unlock();
    const Stopwatch watch;
    if (!skip) score(reward, entries);
    const double scoring_s = watch.seconds() / static_cast<double>(entries.size());
    lock.lock();
    for (Entry* entry : entries) {
      entry->is_done = true;
      failed_ = failed_ || (entry->error && !entry->is_dropped);
      if (skip) continue;
      const double took_s = scoring_s + entry->query.model_s;
      ++use_.num_scored;
      use_.total_s += took_s;
      use_.longest_s = std::max(use_.longest_s, took_s);
    }
    if (failed_) shared_->ending.cancel();
    for (const int64_t number : numbers)
      if (entries_.at(number).is_dropped) entries_.erase(number);
    one_done_.notify_all();
  }
}

void RewardPool::score(RewardFunction& reward, const std::vector<Entry*>& entries) const {
  RewardQueries queries;
  for (const Entry* entry : entries) queries.push_back(&entry->query);
  std::vector<RewardResult> results;
  try {
    results = reward.score_all(queries);
    ROLL_CHECK_EQ(results.size(), entries.size(), "every query has a result");
  } catch (...) {
    for (Entry* entry : entries) entry->error = std::current_exception();
    return;
  }
  for (size_t i = 0; i < entries.size(); ++i) try {
      entries[i]->result = std::move(results[i]);
      follow_policy(entries[i]->result);
    } catch (...) {
      entries[i]->error = std::current_exception();
    }
}

void RewardPool::follow_policy(RewardResult& result) const {
  if (!reward_failure(result.detail)) return;
  if (on_reward_error_ == RewardErrorPolicy::kStop) {
    RewardFaults faults;
    faults.add(result.detail);
    throw user_error("{}on_reward_error = stop: failed rewards: {}; repair the reward, or set this to drop or zero",
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

RewardUse RewardPool::take_statistics() {
  const std::lock_guard lock(mutex_);
  return std::exchange(use_, {});
}

void RewardPool::drop(int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto entry = entries_.find(number);
  if (entry == entries_.end() || (entry->second.is_done && entry->second.error)) return;  // a failure ends the run
  if (entry->second.is_done || std::erase(waiting_, number) > 0)
    entries_.erase(entry);
  else
    entry->second.is_dropped = true;  // it is being scored
}

}  // namespace roll
