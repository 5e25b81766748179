#include "collect/environment_pool.h"

#include <chrono>
#include <utility>

#include "base/error.h"

namespace roll {

namespace {

template <class F>
TurnAnswer answer_of(F&& ask) {
  try {
    return {.reaction = ask()};
  } catch (const EnvironmentFailed& failure) {
    return {.fault = failure.fault, .why = failure.what()};
  }
}

}  // namespace

void reset_to(Environment& environment, uint64_t seed, const std::string& observation) {
  if (environment.reset(seed).observation != observation)
    throw EnvironmentFailed(EnvironmentFault::kProtocol,
                            fmt::format("the level of seed {} began otherwise than before; a seed is one level", seed));
}

EnvironmentPool::EnvironmentPool(const EnvironmentsByTag& environments, Agents agents)
    : environments_(environments), agents_(std::move(agents)) {
  for (const auto& [tag, config] : environments) {
    if (config.env_type->is_agent) continue;
    first_[tag] = make_environment(config, tag);
    if (config.env_type->is_program || config.env_type->is_slow) threads_[tag];
  }
  for (auto& [tag, its] : threads_) {
    const EnvironmentConfig& config = environments.at(tag);
    const auto work = config.env_type->is_program ? &EnvironmentPool::play_all : &EnvironmentPool::answer_all;
    for (int64_t i = 0; i < config.env_config.world_size; ++i)
      its.threads.emplace_back([this, work, own = tag] { (this->*work)(own); });
  }
}

EnvironmentPool::~EnvironmentPool() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  has_work_.notify_all();
  for (auto& [tag, its] : threads_)
    for (std::thread& thread : its.threads) thread.join();
}

int64_t EnvironmentPool::begin(const std::string& tag, uint64_t seed, std::string observation) {
  const std::lock_guard lock(mutex_);
  const int64_t number = num_begun_++;
  Trajectory& trajectory = trajectories_[number];
  trajectory = {.tag = tag, .seed = seed, .observation = std::move(observation)};
  if (environments_.at(tag).env_type->is_program) {
    threads_.at(tag).waiting.push_back(number);
    has_work_.notify_all();
    return number;
  }
  trajectory.own = first_.at(tag)->another();
  if (!trajectory.own) trajectory.own = make_environment(environments_.at(tag), tag);
  reset_to(*trajectory.own, seed, trajectory.observation);
  return number;
}

int64_t EnvironmentPool::begin(const std::string& tag, AgentSessions::Terms terms) {
  const std::lock_guard lock(mutex_);
  const int64_t number = num_begun_++;
  trajectories_[number] = {.tag = tag, .seed = terms.seed};
  agents_.at(tag)->sessions().begin(number, std::move(terms));
  return number;
}

AgentSessions& EnvironmentPool::sessions(int64_t number) {
  const std::lock_guard lock(mutex_);
  return agents_.at(trajectories_.at(number).tag)->sessions();
}

void EnvironmentPool::step(int64_t number, std::string message) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_.at(number);
  const auto its = threads_.find(trajectory.tag);
  if (its == threads_.end()) {
    trajectory.answer = answer_of([&] { return trajectory.own->step(message); });
    return;
  }
  trajectory.message = std::move(message);
  if (trajectory.own) its->second.waiting.push_back(number);
  has_work_.notify_all();
}

std::optional<TurnAnswer> EnvironmentPool::take(int64_t number) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_.at(number);
  if (const auto agent = agents_.find(trajectory.tag); agent != agents_.end())
    return agent->second->sessions().next(number);
  return std::exchange(trajectory.answer, std::nullopt);
}

void EnvironmentPool::end(int64_t number) {
  const std::lock_guard lock(mutex_);
  Trajectory& trajectory = trajectories_.at(number);
  if (const auto agent = agents_.find(trajectory.tag); agent != agents_.end()) {
    agent->second->sessions().end(number);
    trajectories_.erase(number);
    return;
  }
  const auto its = threads_.find(trajectory.tag);
  const bool waits = its != threads_.end() && std::erase(its->second.waiting, number) > 0;
  if (waits || (trajectory.own && !trajectory.is_asked)) {
    trajectories_.erase(number);
    return;
  }
  trajectory.is_over = true;  // whose thread then takes it away
  has_work_.notify_all();
}

bool EnvironmentPool::is_busy() {
  const std::lock_guard lock(mutex_);
  return !trajectories_.empty();
}

void EnvironmentPool::wait(double seconds) {
  std::unique_lock lock(mutex_);
  has_answer_.wait_for(lock, std::chrono::duration<double>(seconds));
}

std::optional<int64_t> EnvironmentPool::next_waiting(const std::string& tag, std::unique_lock<std::mutex>& lock) {
  std::deque<int64_t>& waiting = threads_.at(tag).waiting;
  has_work_.wait(lock, [&] { return is_ending_ || !waiting.empty(); });
  if (is_ending_) return std::nullopt;
  const int64_t number = waiting.front();
  waiting.pop_front();
  return number;
}

/// A thread with a program: plays one trajectory after the other, to its end.
void EnvironmentPool::play_all(const std::string& tag) {
  const EnvironmentConfig& config = environments_.at(tag);
  const std::unique_ptr<Environment> environment = make_environment(config, tag);
  std::unique_lock lock(mutex_);
  while (const auto number = next_waiting(tag, lock)) {
    play(*environment, *number, lock);
    trajectories_.erase(*number);
  }
}

/// A thread that asks the environments of trajectories, one message after the other.
void EnvironmentPool::answer_all(const std::string& tag) {
  std::unique_lock lock(mutex_);
  while (const auto number = next_waiting(tag, lock)) {
    Trajectory& trajectory = trajectories_.at(*number);
    trajectory.is_asked = true;
    const std::string message = std::move(*std::exchange(trajectory.message, std::nullopt));
    lock.unlock();
    TurnAnswer answer = answer_of([&] { return trajectory.own->step(message); });
    lock.lock();
    trajectory.is_asked = false;
    if (trajectory.is_over)
      trajectories_.erase(*number);
    else
      trajectory.answer = std::move(answer);
    has_answer_.notify_all();
  }
}

void EnvironmentPool::play(Environment& environment, int64_t number, std::unique_lock<std::mutex>& lock) {
  Trajectory& trajectory = trajectories_.at(number);
  const auto unlocked = [&](auto&& ask) {
    lock.unlock();
    TurnAnswer answer = answer_of(ask);
    lock.lock();
    return answer;
  };
  TurnAnswer known = unlocked([&] {
    reset_to(environment, trajectory.seed, trajectory.observation);
    return Reaction();
  });
  while (true) {
    has_work_.wait(lock, [&] { return is_ending_ || trajectory.is_over || trajectory.message; });
    if (is_ending_) return;
    if (trajectory.is_over) break;
    const std::string message = std::move(*std::exchange(trajectory.message, std::nullopt));
    if (!known.fault) known = unlocked([&] { return environment.step(message); });
    trajectory.answer = known;
    has_answer_.notify_all();
  }
  if (known.fault) return;
  unlocked([&] {
    environment.close();
    return Reaction();
  });
}

}  // namespace roll
