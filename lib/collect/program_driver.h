// Drives the user's environment programs, for EnvironmentPool. Each program plays one level at a time; one thread talks
// to all programs and takes answers as they come. Trajectories without a program wait here, and nowhere else.
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
  /// Called on the driver's thread with the answer to a step.
  using OnAnswer = std::function<void(int64_t trajectory, TurnAnswer answer)>;
  /// `kinds`: settings by tag; they must outlive the driver. UserError: the programs need more descriptors than this
  /// process may have.
  ProgramDriver(const std::map<std::string, const EnvironmentArgs*>& kinds, OnAnswer on_answer);
  /// Stops the programs, even in the middle of a step.
  ~ProgramDriver();
  ProgramDriver(const ProgramDriver&) = delete;
  ProgramDriver& operator=(const ProgramDriver&) = delete;

  /// Starts a trajectory as soon as a program is free. `observation`: expected first observation of the level.
  void begin(int64_t trajectory, const std::string& tag, uint64_t seed, std::string observation);
  /// Sends the model's message. One message at a time per trajectory.
  void step(int64_t trajectory, std::string message);
  /// Ends the trajectory and frees its program.
  void end(int64_t trajectory);

 private:
  enum class At { kFree, kReset, kTurn, kStep, kClose };  // state of a program
  static constexpr int64_t kNobody = -1;
  struct Seat {
    std::string tag;
    CommandPlayer player;
    int64_t trajectory = kNobody;
    At at = At::kFree;
    std::optional<TurnAnswer> failed{};  // answer to all further steps
  };
  struct Kind {
    std::deque<int64_t> waiting{};  // trajectories without a program
    std::vector<std::unique_ptr<Seat>> seats{};
  };
  struct Trajectory {
    std::string tag;
    uint64_t seed = 0;
    std::string observation;
    Seat* seat = nullptr;
    std::optional<std::string> message{};  // not sent yet
  };
  void post(std::function<void()> news);
  void run();
  std::vector<Seat*> wait();
  void seat_next(Seat& seat);
  void go_on(Seat& seat);
  void react(Seat& seat);

  const OnAnswer on_answer_;
  Pipe wake_;
  std::mutex mutex_;
  std::vector<std::function<void()>> news_;  // tasks for the thread

  // Used by the thread only.
  bool is_ending_ = false;
  std::map<std::string, Kind> kinds_;
  std::map<int64_t, Trajectory> trajectories_;

  std::thread thread_;
};

/// Checks that the level of `seed` begins with `observation`. EnvironmentFailed: it begins otherwise.
void check_opening(const Opening& opening, uint64_t seed, const std::string& observation);

}  // namespace roll
