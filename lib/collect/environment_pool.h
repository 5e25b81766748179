// The environments that a rank's trajectories are played in. Those of this program answer at once, or, where that takes
// time, from threads (environment_threads.h); programs of the user are driven by one (program_driver.h).
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
  /// UserError: an environment that cannot be made. `environments` must outlive it.
  explicit EnvironmentPool(const EnvironmentsByTag& environments, Agents agents = {});
  /// Ends the programs; waits for an answer of this program's own that is under way.
  ~EnvironmentPool() = default;
  EnvironmentPool(const EnvironmentPool&) = delete;
  EnvironmentPool& operator=(const EnvironmentPool&) = delete;

  /// A trajectory of its own; it begins when there is an environment for it. `observation`: what the level must show.
  int64_t begin(const std::string& tag, uint64_t seed, std::string observation);
  /// A trajectory of an agent's, who asks: take() gives the first turn.
  int64_t begin(const std::string& tag, AgentSessions::Terms terms);
  /// The sessions of the agent whose trajectory it is.
  AgentSessions& sessions(int64_t trajectory);
  /// One at a time for each trajectory.
  void step(int64_t trajectory, std::string message);
  /// The answer to the last step, once it is there.
  std::optional<TurnAnswer> take(int64_t trajectory);
  /// Its environment is free for others; once.
  void end(int64_t trajectory);
  /// Whether trajectories have begun that are not over.
  bool is_busy();
  /// Until an answer comes, or this long.
  void wait(double seconds);

 private:
  struct Trajectory {
    std::string tag;
    std::optional<TurnAnswer> answer{};
    std::unique_ptr<Environment> own{};  // that answers at once
  };
  bool is_program(const std::string& tag) const { return environments_.at(tag).env_type->is_program; }
  void hear(int64_t number, TurnAnswer answer);

  const EnvironmentsByTag& environments_;
  const Agents agents_;
  std::mutex mutex_;
  std::condition_variable has_answer_;
  std::map<int64_t, Trajectory> trajectories_;
  std::map<std::string, std::unique_ptr<Environment>> first_;  // by tag; what others are made after
  int64_t num_begun_ = 0;
  EnvironmentThreads threads_;
  std::optional<ProgramDriver> programs_;  // where there are some
};

}  // namespace roll
