// Runs slow built-in environments on worker threads, for EnvironmentPool, so that the sampler never waits for them.
// Each tag (environment of custom_envs) has its own threads. The caller numbers trajectories. A level is one game or
// task of an environment, chosen by a seed.
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
  /// Called on a worker thread, without locks, with the answer to a step().
  using OnAnswer = std::function<void(int64_t trajectory, TurnAnswer answer)>;
  explicit EnvironmentThreads(OnAnswer on_answer) : on_answer_(std::move(on_answer)) {}
  /// Waits for environments that are computing an answer; other work is dropped.
  ~EnvironmentThreads();
  EnvironmentThreads(const EnvironmentThreads&) = delete;
  EnvironmentThreads& operator=(const EnvironmentThreads&) = delete;

  /// Adds an environment and starts its threads; call it before trajectories of that tag begin. Calls
  /// prototype->prepare(); each trajectory plays in a copy (Environment::another()). Throws UserError if the
  /// environment's data cannot be loaded.
  void add(const std::string& tag, int64_t num_threads, std::unique_ptr<Environment> prototype);
  bool has(const std::string& tag) const { return pools_.contains(tag); }

  // These functions only queue work for a thread of the tag; they return at once.

  /// Starts a trajectory in a separate environment object. `observation`: first observation that the level of `seed`
  /// must show. If the level cannot begin or shows another one, the answer to each step() is that fault.
  void begin(int64_t trajectory, const std::string& tag, uint64_t seed, std::string observation);
  /// Sends the model's message. Call it again only after the answer.
  void step(int64_t trajectory, std::string message);
  /// Ends the trajectory; its environment is reused. Call it once. A step in progress is finished and still answered.
  void end(int64_t trajectory);

 private:
  struct Pool {
    std::unique_ptr<Environment> prototype;
    std::vector<std::unique_ptr<Environment>> free{};
    std::deque<int64_t> waiting{};  // trajectories with work for a thread
    std::vector<std::thread> threads{};
  };
  struct Trajectory {
    std::string tag;
    uint64_t seed = 0;
    std::string observation;
    std::unique_ptr<Environment> environment{};  // set when opened
    std::optional<std::string> message{};        // not answered yet
    bool is_over = false;
    bool is_taken = false;                // waits for a thread or is on one
    std::optional<TurnAnswer> failure{};  // answer to all further steps
  };
  void enqueue(int64_t number, Trajectory& trajectory);
  void work(Pool& pool);

  // These release the lock while an environment runs.
  using Lock = std::unique_lock<std::mutex>;
  void play(int64_t number, Pool& pool, Lock& lock);
  void open(Trajectory& trajectory, Pool& pool, Lock& lock);
  void answer(int64_t number, Trajectory& trajectory, Lock& lock);
  void close(int64_t number, Pool& pool, Lock& lock);

  const OnAnswer on_answer_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::map<std::string, Pool> pools_;
  std::map<int64_t, Trajectory> trajectories_;
  bool is_ending_ = false;
};

}  // namespace roll
