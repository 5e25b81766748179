#include "collect/environment_threads.h"

#include <utility>

#include "collect/program_driver.h"

namespace roll {

namespace {

/// Runs `play`; returns its failure, or nullopt.
template <class F>
std::optional<TurnAnswer> failed_turn(F&& play) {
  try {
    play();
  } catch (const EnvironmentFailed& failure) {
    return fault_answer(failure);
  }
  return std::nullopt;
}

}  // namespace

void EnvironmentThreads::add(const std::string& tag, int64_t num_threads, std::unique_ptr<Environment> first) {
  Kind& kind = kinds_[tag];
  first->prepare();
  kind.first = std::move(first);
  for (int64_t i = 0; i < num_threads; ++i) kind.threads.emplace_back([this, &kind] { work(kind); });
}

EnvironmentThreads::~EnvironmentThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_all();
  for (auto& [tag, kind] : kinds_)
    for (std::thread& thread : kind.threads) thread.join();
}

void EnvironmentThreads::begin(int64_t number, const std::string& tag, uint64_t seed, std::string observation) {
  const std::lock_guard lock(mutex_);
  Trajectory& its = trajectories_[number];
  its = {.tag = tag, .seed = seed, .observation = std::move(observation)};
  want(number, its);
}

void EnvironmentThreads::step(int64_t number, std::string message) {
  const std::lock_guard lock(mutex_);
  Trajectory& its = trajectories_.at(number);
  its.message = std::move(message);
  want(number, its);
}

void EnvironmentThreads::end(int64_t number) {
  const std::lock_guard lock(mutex_);
  Trajectory& its = trajectories_.at(number);
  its.is_over = true;
  want(number, its);
}

void EnvironmentThreads::want(int64_t number, Trajectory& trajectory) {
  if (std::exchange(trajectory.is_taken, true)) return;
  kinds_.at(trajectory.tag).waiting.push_back(number);
  has_work_.notify_all();
}

void EnvironmentThreads::work(Kind& kind) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return is_ending_ || !kind.waiting.empty(); });
    if (is_ending_) return;
    const int64_t number = kind.waiting.front();
    kind.waiting.pop_front();
    play(number, kind, lock);
  }
}

/// Does the trajectory's work until nothing is left to do.
void EnvironmentThreads::play(int64_t number, Kind& kind, Lock& lock) {
  Trajectory& its = trajectories_.at(number);
  while (!is_ending_) {
    if (its.is_over) return close(number, kind, lock);
    if (!its.own && !its.failed)
      open(its, kind, lock);
    else if (its.message)
      answer(number, its, lock);
    else
      break;
  }
  its.is_taken = false;
}

void EnvironmentThreads::open(Trajectory& its, Kind& kind, Lock& lock) {
  std::unique_ptr<Environment> own;
  if (!kind.free.empty()) {
    own = std::move(kind.free.back());
    kind.free.pop_back();
  }
  lock.unlock();
  auto failed = failed_turn([&] {
    if (!own) own = kind.first->another();
    check_opening(own->reset(its.seed), its.seed, its.observation);
  });
  lock.lock();
  its.own = std::move(own);
  its.failed = std::move(failed);
}

void EnvironmentThreads::answer(int64_t number, Trajectory& its, Lock& lock) {
  const std::string message = *std::exchange(its.message, std::nullopt);
  lock.unlock();
  TurnAnswer answer;
  if (!its.failed) its.failed = failed_turn([&] { answer.reaction = its.own->step(message); });
  if (its.failed) answer = *its.failed;
  on_answer_(number, std::move(answer));
  lock.lock();
}

void EnvironmentThreads::close(int64_t number, Kind& kind, Lock& lock) {
  std::unique_ptr<Environment> own = std::move(trajectories_.at(number).own);
  bool is_free = own && !trajectories_.at(number).failed;
  trajectories_.erase(number);
  lock.unlock();
  if (is_free) is_free = !failed_turn([&] { own->close(); });
  if (!is_free) own.reset();
  lock.lock();
  if (is_free) kind.free.push_back(std::move(own));
}

}  // namespace roll
