// Programs of the user that play, each a level at a time, and one thread that asks all of them and waits for whichever
// answers first. Trajectories beyond the programs wait here, and nowhere else.
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
  /// On the thread: the answer to a step.
  using OnAnswer = std::function<void(int64_t trajectory, TurnAnswer answer)>;
  /// `kinds`: by tag; what they hold must outlive it. UserError: more programs than this process may have descriptors.
  ProgramDriver(const std::map<std::string, const EnvironmentArgs*>& kinds, OnAnswer on_answer);
  /// Ends the programs, whatever they are at.
  ~ProgramDriver();
  ProgramDriver(const ProgramDriver&) = delete;
  ProgramDriver& operator=(const ProgramDriver&) = delete;

  /// A trajectory gets a program when one is free. `observation`: what the level must show.
  void begin(int64_t trajectory, const std::string& tag, uint64_t seed, std::string observation);
  /// One at a time for each trajectory.
  void step(int64_t trajectory, std::string message);
  /// Its program is free for others.
  void end(int64_t trajectory);

 private:
  enum class At { kFree, kReset, kTurn, kStep, kClose };  // what a program does, or waits for
  static constexpr int64_t kNobody = -1;
  struct Seat {
    std::string tag;
    CommandPlayer player;
    int64_t trajectory = kNobody;
    At at = At::kFree;
    std::optional<TurnAnswer> failed{};  // what is said to all further steps
  };
  struct Kind {
    std::deque<int64_t> waiting{};  // trajectories
    std::vector<std::unique_ptr<Seat>> seats{};
  };
  struct Trajectory {
    std::string tag;
    uint64_t seed = 0;
    std::string observation;
    Seat* seat = nullptr;
    std::optional<std::string> message{};  // that waits
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
  std::vector<std::function<void()>> news_;  // for the thread

  // The thread's own.
  bool is_ending_ = false;
  std::map<std::string, Kind> kinds_;
  std::map<int64_t, Trajectory> trajectories_;

  std::thread thread_;
};

/// The level of that seed begins as it is known to. EnvironmentFailed.
void check_opening(const Opening& opening, uint64_t seed, const std::string& observation);

}  // namespace roll
