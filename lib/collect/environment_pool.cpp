#include "collect/environment_pool.h"

#include <chrono>
#include <utility>

#include "base/error.h"

namespace roll {

namespace {

template <class F>
TurnAnswer answer_or_fault(F&& step) {
  try {
    return {.reaction = step()};
  } catch (const EnvironmentFailed& failure) {
    return fault_answer(failure);
  }
}

}  // namespace

EnvironmentPool::EnvironmentPool(const EnvironmentsByTag& environments, Agents agents)
    : environments_(environments),
      agents_(std::move(agents)),
      threads_([this](int64_t number, TurnAnswer answer) { store_answer(number, std::move(answer)); }) {
  std::map<std::string, const EnvironmentArgs*> programs;
  for (const auto& [tag, config] : environments) {
    if (config.env_type->is_agent) continue;
    auto prototype = make_environment(config, tag);
    if (config.env_type->is_program)
      programs[tag] = &config.env_config;
    else if (config.env_type->is_slow)
      threads_.add(tag, config.env_config.world_size, std::move(prototype));
    else
      prototypes_[tag] = std::move(prototype);
  }
  if (!programs.empty())
    programs_.emplace(programs, [this](int64_t number, TurnAnswer answer) { store_answer(number, std::move(answer)); });
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
  if (threads_.has(tag)) {
    threads_.begin(number, tag, seed, std::move(observation));
    return number;
  }
  trajectory.environment = prototypes_.at(tag)->another();
  if (!trajectory.environment) trajectory.environment = make_environment(environments_.at(tag), tag);
  check_opening(trajectory.environment->reset(seed), seed, observation);
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
  if (threads_.has(trajectory.tag)) return threads_.step(number, std::move(message));
  trajectory.answer = answer_or_fault([&] { return trajectory.environment->step(message); });
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
  if (const auto agent = agents_.find(trajectory.tag); agent != agents_.end()) agent->second->sessions().end(number);
  if (is_program(trajectory.tag)) programs_->end(number);
  if (threads_.has(trajectory.tag)) threads_.end(number);
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

/// Stores the answer of a program or thread, unless its trajectory has ended.
void EnvironmentPool::store_answer(int64_t number, TurnAnswer answer) {
  const std::lock_guard lock(mutex_);
  const auto found = trajectories_.find(number);
  if (found == trajectories_.end()) return;
  found->second.answer = std::move(answer);
  has_answer_.notify_all();
}

}  // namespace roll
