// Drives the user's environment programs, for EnvironmentPool. One thread talks to all programs and takes answers as
// they come. Each tag (environment of custom_envs) has world_size programs; each plays one trajectory at a time, and
// trajectories without a program wait. The caller numbers trajectories. A level is one game or task of an environment,
// chosen by a seed.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/descriptor.h"
#include "collect/turn_answer.h"
#include "environment/command_player.h"

namespace roll {

class ProgramDriver {
 public:
  /// Called on the driver's thread with the answer to a step().
  using OnAnswer = std::function<void(int64_t trajectory, TurnAnswer answer)>;
  /// `args_by_tag`: settings of the environment programs; the pointed-to settings must outlive the driver. Programs
  /// start with the first trajectories. Throws UserError if the programs need more file descriptors than this process
  /// may have.
  ProgramDriver(const std::map<std::string, const EnvironmentArgs*>& args_by_tag, OnAnswer on_answer);
  /// Stops the programs, even in the middle of a step.
  ~ProgramDriver();
  ProgramDriver(const ProgramDriver&) = delete;
  ProgramDriver& operator=(const ProgramDriver&) = delete;

  // These functions only queue work for the driver's thread; they return at once.

  /// Starts a trajectory as soon as a program of the tag is free. `observation`: first observation that the level of
  /// `seed` must show. If the level cannot begin or shows another one, the answer to each step() is that fault.
  void begin(int64_t trajectory, const std::string& tag, uint64_t seed, std::string observation);
  /// Sends the model's message. Call it again only after the answer.
  void step(int64_t trajectory, std::string message);
  /// Ends the trajectory and frees its program. Call it once. A step in progress is not answered.
  void end(int64_t trajectory);

 private:
  enum class State { kFree, kReset, kTurn, kStep, kClose };  // kTurn: waits for the model's message
  static constexpr int64_t kNoTrajectory = -1;
  struct Program {
    std::string tag;
    CommandPlayer player;
    int64_t trajectory = kNoTrajectory;
    State state = State::kFree;
    std::optional<TurnAnswer> failed{};  // answer to all further steps
  };
  struct ProgramGroup {
    std::deque<int64_t> waiting{};  // trajectories without a program
    std::vector<std::unique_ptr<Program>> programs{};
  };
  struct Trajectory {
    std::string tag;
    uint64_t seed = 0;
    std::string observation;
    Program* program = nullptr;
    std::optional<std::string> message{};  // not sent yet
  };
  void post(std::function<void()> task);
  void run();
  std::vector<Program*> wait();
  void start_next(Program& program);
  void continue_program(Program& program);
  void start_operation(Program& program);

  const OnAnswer on_answer_;
  Pipe wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> tasks_;  // tasks for the thread

  // Used by the thread only.
  bool is_ending_ = false;
  std::map<std::string, ProgramGroup> groups_;
  std::map<int64_t, Trajectory> trajectories_;

  std::thread thread_;
};

/// Throws EnvironmentFailed (kProtocol) unless `opening` has the observation `observation`. `opening`: how the level of
/// `seed` began now. `observation`: first observation of the same level when the data rows were made.
void check_opening(const Opening& opening, uint64_t seed, const std::string& observation);

}  // namespace roll
