// Runs the environments of the trajectories that one rank samples, for TurnSource. Fast built-in environments run in
// the caller's thread, slow ones (is_slow in environment/types.h) on other threads (environment_threads.h). One thread
// drives the user's environment programs (program_driver.h). External agents come over HTTP (agent_host.h). A level is
// one game or task of an environment, chosen by a seed. All functions are called by the sampler's thread.
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
  /// `environments` must outlive the pool. `agents`: one host for each environment that is played by agents. Throws
  /// UserError if an environment cannot be created.
  explicit EnvironmentPool(const EnvironmentsByTag& environments, Agents agents = {});
  /// Stops the programs; waits for built-in environments that are computing an answer.
  ~EnvironmentPool() = default;
  EnvironmentPool(const EnvironmentPool&) = delete;
  EnvironmentPool& operator=(const EnvironmentPool&) = delete;

  /// Starts a trajectory of an environment without agents and returns its number; does not wait for a free program or
  /// thread. `observation`: the level's first observation, which the caller knows from the data row, so that take()
  /// returns nothing before the first step(). The level of `seed` must show the same observation. If it shows another
  /// one or cannot begin, a fast built-in environment throws EnvironmentFailed here. Others then answer the first
  /// step() with a fault.
  int64_t begin(const std::string& tag, uint64_t seed, std::string observation);
  /// Starts a trajectory that an agent drives, and returns its number. take() returns the agent's first request once it
  /// has come.
  int64_t begin(const std::string& tag, AgentSessions::Terms terms);
  /// Returns the sessions of the agents that play this trajectory's environment. They know the trajectory by the same
  /// number. The caller passes the model's tokens and turns to the agent by their stream_tokens() and finish_turn().
  AgentSessions& sessions(int64_t trajectory);
  /// Sends the model's message to the environment. The caller must take() the answer before the next step(). Not for
  /// trajectories that an agent drives, which gets the message by sessions().
  void step(int64_t trajectory, std::string message);
  /// Returns the environment's answer to the last step(), once. For a trajectory that an agent drives, returns the
  /// agent's next request or how its session ended (AgentSessions::next()). Returns nullopt if there is none yet.
  std::optional<TurnAnswer> take(int64_t trajectory);
  /// Ends the trajectory and frees its environment. Call it once.
  void end(int64_t trajectory);
  /// Returns true if any trajectory has not ended.
  bool is_busy();
  /// Waits until an answer of a program or thread arrives, or `seconds` are over. Agents' requests do not end the wait.
  void wait(double seconds);

 private:
  struct Trajectory {
    std::string tag;
    std::optional<TurnAnswer> answer{};
    std::unique_ptr<Environment> environment{};  // set only for fast built-in environments
  };
  bool is_program(const std::string& tag) const { return environments_.at(tag).env_type->is_program; }
  void store_answer(int64_t number, TurnAnswer answer);

  const EnvironmentsByTag& environments_;
  const Agents agents_;
  std::mutex mutex_;
  std::condition_variable has_answer_;
  std::map<int64_t, Trajectory> trajectories_;
  std::map<std::string, std::unique_ptr<Environment>> prototypes_;  // fast built-in environments, by tag
  int64_t num_begun_ = 0;
  EnvironmentThreads threads_;
  std::optional<ProgramDriver> programs_;  // unset without user programs
};

}  // namespace roll
