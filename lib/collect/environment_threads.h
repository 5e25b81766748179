// Environments within this process whose answers take time: threads that play all of them, `world_size` for each kind,
// so that nothing which an environment does holds up who asks.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "collect/turn_answer.h"
#include "environment/config.h"
#include "environment/environment.h"

namespace roll {

class EnvironmentThreads {
 public:
  /// On a thread: the answer to a step.
  using OnAnswer = std::function<void(int64_t trajectory, TurnAnswer answer)>;
  explicit EnvironmentThreads(OnAnswer on_answer) : on_answer_(std::move(on_answer)) {}
  /// Waits for what is under way.
  ~EnvironmentThreads();
  EnvironmentThreads(const EnvironmentThreads&) = delete;
  EnvironmentThreads& operator=(const EnvironmentThreads&) = delete;

  /// Before trajectories of that tag begin. `first`: what others are made after, which is ready to be played.
  /// UserError.
  void add(const std::string& tag, int64_t num_threads, std::unique_ptr<Environment> first);
  bool has(const std::string& tag) const { return kinds_.contains(tag); }

  /// Each trajectory has an environment of its own, which may have played others. `observation`: what the level must
  /// show.
  void begin(int64_t trajectory, const std::string& tag, uint64_t seed, std::string observation);
  /// One at a time for each trajectory.
  void step(int64_t trajectory, std::string message);
  void end(int64_t trajectory);

 private:
  struct Kind {
    std::unique_ptr<Environment> first;
    std::vector<std::unique_ptr<Environment>> free{};
    std::deque<int64_t> waiting{};  // trajectories that want something
    std::vector<std::thread> threads{};
  };
  struct Trajectory {
    std::string tag;
    uint64_t seed = 0;
    std::string observation;
    std::unique_ptr<Environment> own{};    // once it has begun
    std::optional<std::string> message{};  // that waits
    bool is_over = false;
    bool is_taken = false;               // it waits for a thread, or has one
    std::optional<TurnAnswer> failed{};  // what is said to all further steps
  };
  void want(int64_t number, Trajectory& trajectory);
  void work(Kind& kind);

  // They unlock it while an environment is asked.
  using Lock = std::unique_lock<std::mutex>;
  void play(int64_t number, Kind& kind, Lock& lock);
  void open(Trajectory& its, Kind& kind, Lock& lock);
  void answer(int64_t number, Trajectory& its, Lock& lock);
  void close(int64_t number, Kind& kind, Lock& lock);

  const OnAnswer on_answer_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::map<std::string, Kind> kinds_;
  std::map<int64_t, Trajectory> trajectories_;
  bool is_ending_ = false;
};

}  // namespace roll
