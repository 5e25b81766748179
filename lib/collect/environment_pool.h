// Environments of one rank's trajectories, for TurnSource. Built-in ones answer at once or, if slow, on threads
// (environment_threads.h). The user's programs are driven by one thread (program_driver.h), agents through HTTP
// (agent_host.h).
#pragma once

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "collect/agent_host.h"
#include "collect/environment_threads.h"
#include "collect/program_driver.h"
#include "collect/turn_answer.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

using EnvironmentsByTag = std::map<std::string, EnvironmentConfig>;

class EnvironmentPool {
 public:
  using Agents = std::map<std::string, std::unique_ptr<AgentHost>>;  // by tag
  /// UserError: an environment cannot be created. `environments` must outlive the pool.
  explicit EnvironmentPool(const EnvironmentsByTag& environments, Agents agents = {});
  /// Stops the programs; waits for built-in environments that are computing an answer.
  ~EnvironmentPool() = default;
  EnvironmentPool(const EnvironmentPool&) = delete;
  EnvironmentPool& operator=(const EnvironmentPool&) = delete;

  /// Starts a trajectory, once an environment is free, and returns its number. `observation`: expected first
  /// observation of the level.
  int64_t begin(const std::string& tag, uint64_t seed, std::string observation);
  /// Starts a trajectory driven by an agent; take() returns its first request.
  int64_t begin(const std::string& tag, AgentSessions::Terms terms);
  /// Returns the agent sessions that hold the trajectory.
  AgentSessions& sessions(int64_t trajectory);
  /// Sends the model's message. One message at a time per trajectory.
  void step(int64_t trajectory, std::string message);
  /// Returns the answer to the last step; nullopt until it is there.
  std::optional<TurnAnswer> take(int64_t trajectory);
  /// Ends the trajectory and frees its environment. Call it once.
  void end(int64_t trajectory);
  /// Returns true if any trajectory has not ended.
  bool is_busy();
  /// Waits until an answer arrives or the time is over.
  void wait(double seconds);

 private:
  struct Trajectory {
    std::string tag;
    std::optional<TurnAnswer> answer{};
    std::unique_ptr<Environment> environment{};  // built-in and fast
  };
  bool is_program(const std::string& tag) const { return environments_.at(tag).env_type->is_program; }
  void store_answer(int64_t number, TurnAnswer answer);

  const EnvironmentsByTag& environments_;
  const Agents agents_;
  std::mutex mutex_;
  std::condition_variable has_answer_;
  std::map<int64_t, Trajectory> trajectories_;
  std::map<std::string, std::unique_ptr<Environment>> prototypes_;  // by tag; prototypes
  int64_t num_begun_ = 0;
  EnvironmentThreads threads_;
  std::optional<ProgramDriver> programs_;  // unset without user programs
};

}  // namespace roll
