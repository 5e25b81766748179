#include "collect/environment_threads.h"

#include <utility>

#include "collect/program_driver.h"

namespace roll {

namespace {

/// Runs `play`; returns its failure, or nullopt.
template <class F>
std::optional<TurnAnswer> catch_failure(F&& play) {
  try {
    play();
  } catch (const EnvironmentFailed& failure) {
    return fault_answer(failure);
  }
  return std::nullopt;
}

}  // namespace

void EnvironmentThreads::add(const std::string& tag, int64_t num_threads, std::unique_ptr<Environment> prototype) {
  Pool& pool = pools_[tag];
  prototype->prepare();
  pool.prototype = std::move(prototype);
  for (int64_t i = 0; i < num_threads; ++i) pool.threads.emplace_back([this, &pool] { work(pool); });
}

EnvironmentThreads::~EnvironmentThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_all();
  for (auto& [tag, pool] : pools_)
    for (std::thread& thread : pool.threads) thread.join();
}

void EnvironmentThreads::begin(int64_t number, const std::string& tag, uint64_t seed, std::string observation) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_[number];
  trajectory = {.tag = tag, .seed = seed, .observation = std::move(observation)};
  enqueue(number, trajectory);
}

void EnvironmentThreads::step(int64_t number, std::string message) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_.at(number);
  trajectory.message = std::move(message);
  enqueue(number, trajectory);
}

void EnvironmentThreads::end(int64_t number) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_.at(number);
  trajectory.is_over = true;
  enqueue(number, trajectory);
}

void EnvironmentThreads::enqueue(int64_t number, Trajectory& trajectory) {
  if (std::exchange(trajectory.is_taken, true)) return;
  pools_.at(trajectory.tag).waiting.push_back(number);
  has_work_.notify_all();
}

void EnvironmentThreads::work(Pool& pool) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return is_ending_ || !pool.waiting.empty(); });
    if (is_ending_) return;
    const int64_t number = pool.waiting.front();
    pool.waiting.pop_front();
    play(number, pool, lock);
  }
}

/// Does the trajectory's work until nothing is left to do.
void EnvironmentThreads::play(int64_t number, Pool& pool, Lock& lock) {
  Trajectory& trajectory = trajectories_.at(number);
  while (!is_ending_) {
    if (trajectory.is_over) return close(number, pool, lock);
    if (!trajectory.environment && !trajectory.failure)
      open(trajectory, pool, lock);
    else if (trajectory.message)
      answer(number, trajectory, lock);
    else
      break;
  }
  trajectory.is_taken = false;
}

void EnvironmentThreads::open(Trajectory& trajectory, Pool& pool, Lock& lock) {
  std::unique_ptr<Environment> environment;
  if (!pool.free.empty()) {
    environment = std::move(pool.free.back());
    pool.free.pop_back();
  }
  lock.unlock();
  auto failure = catch_failure([&] {
    if (!environment) environment = pool.prototype->another();
    check_opening(environment->reset(trajectory.seed), trajectory.seed, trajectory.observation);
  });
  lock.lock();
  trajectory.environment = std::move(environment);
  trajectory.failure = std::move(failure);
}

void EnvironmentThreads::answer(int64_t number, Trajectory& trajectory, Lock& lock) {
  const std::string message = *std::exchange(trajectory.message, std::nullopt);
  lock.unlock();
  TurnAnswer answer;
  if (!trajectory.failure)
    trajectory.failure = catch_failure([&] { answer.reaction = trajectory.environment->step(message); });
  if (trajectory.failure) answer = *trajectory.failure;
  on_answer_(number, std::move(answer));
  lock.lock();
}

void EnvironmentThreads::close(int64_t number, Pool& pool, Lock& lock) {
  std::unique_ptr<Environment> environment = std::move(trajectories_.at(number).environment);
  bool is_free = environment && !trajectories_.at(number).failure;
  trajectories_.erase(number);
  lock.unlock();
  if (is_free) is_free = !catch_failure([&] { environment->close(); });
  if (!is_free) environment.reset();
  lock.lock();
  if (is_free) pool.free.push_back(std::move(environment));
}

}  // namespace roll
