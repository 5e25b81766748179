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

EnvironmentPool::EnvironmentPool(const EnvironmentsByTag& environments, Agents agents)
    : environments_(environments), agents_(std::move(agents)) {
  std::map<std::string, const EnvironmentArgs*> programs;
  for (const auto& [tag, config] : environments) {
    if (config.env_type->is_agent) continue;
    first_[tag] = make_environment(config, tag);
    if (config.env_type->is_program) programs[tag] = &config.env_config;
    if (config.env_type->is_slow) threads_[tag];
  }
  if (!programs.empty())
    programs_.emplace(programs, [this](int64_t number, TurnAnswer answer) { hear(number, std::move(answer)); });
  for (auto& [tag, its] : threads_)
    for (int64_t i = 0; i < environments.at(tag).env_config.world_size; ++i)
      its.threads.emplace_back([this, own = tag] { answer_all(own); });
}

EnvironmentPool::~EnvironmentPool() {
  programs_.reset();
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
  trajectory = {.tag = tag};
  if (is_program(tag)) {
    programs_->begin(number, tag, seed, std::move(observation));
    return number;
  }
  trajectory.own = first_.at(tag)->another();
  if (!trajectory.own) trajectory.own = make_environment(environments_.at(tag), tag);
  check_opening(trajectory.own->reset(seed), seed, observation);
  return number;
}

int64_t EnvironmentPool::begin(const std::string& tag, AgentSessions::Terms terms) {
  const std::lock_guard lock(mutex_);
  const int64_t number = num_begun_++;
  trajectories_[number] = {.tag = tag};
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
  if (is_program(trajectory.tag)) return programs_->step(number, std::move(message));
  const auto its = threads_.find(trajectory.tag);
  if (its == threads_.end()) {
    trajectory.answer = answer_of([&] { return trajectory.own->step(message); });
    return;
  }
  trajectory.message = std::move(message);
  its->second.waiting.push_back(number);
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
  if (is_program(trajectory.tag)) programs_->end(number);
  const auto its = threads_.find(trajectory.tag);
  if (its != threads_.end()) std::erase(its->second.waiting, number);
  if (trajectory.is_asked)
    trajectory.is_over = true;  // whose thread then takes it away
  else
    trajectories_.erase(number);
}

bool EnvironmentPool::is_busy() {
  const std::lock_guard lock(mutex_);
  return !trajectories_.empty();
}

void EnvironmentPool::wait(double seconds) {
  std::unique_lock lock(mutex_);
  has_answer_.wait_for(lock, std::chrono::duration<double>(seconds));
}

/// What a program said, to whom still wants it.
void EnvironmentPool::hear(int64_t number, TurnAnswer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = trajectories_.find(number);
  if (found == trajectories_.end()) return;
  found->second.answer = std::move(answer);
  has_answer_.notify_all();
}

/// A thread that asks the environments of trajectories, one message after the other.
void EnvironmentPool::answer_all(const std::string& tag) {
  std::unique_lock lock(mutex_);
  std::deque<int64_t>& waiting = threads_.at(tag).waiting;
  while (true) {
    has_work_.wait(lock, [&] { return is_ending_ || !waiting.empty(); });
    if (is_ending_) return;
    const int64_t number = waiting.front();
    waiting.pop_front();
    Trajectory& trajectory = trajectories_.at(number);
    trajectory.is_asked = true;
    const std::string message = std::move(*std::exchange(trajectory.message, std::nullopt));
    lock.unlock();
    TurnAnswer answer = answer_of([&] { return trajectory.own->step(message); });
    lock.lock();
    trajectory.is_asked = false;
    if (trajectory.is_over)
      trajectories_.erase(number);
    else
      trajectory.answer = std::move(answer);
    has_answer_.notify_all();
  }
}

}  // namespace roll
