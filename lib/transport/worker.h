// Runs a host communicator's asynchronous collectives in a background thread, one after the other. Used by
// host_communicator.cpp.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

#include "dist/communicator.h"

namespace roll {

/// Thread-safe.
class Worker {
 public:
  Worker();
  /// Waits until all queued work has ended.
  ~Worker();

  /// Queues `work` behind all earlier work and returns at once. Pending::wait() of the result waits for its end and
  /// rethrows an exception of `work`; without wait() the exception is lost.
  std::unique_ptr<Pending> run(std::function<void()> work);
  /// Returns true if some work is queued or running.
  bool is_busy();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::queue<std::function<void()>> queue_;
  bool is_running_ = false;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace roll
