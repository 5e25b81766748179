// A thread that runs a host communicator's asynchronous collectives in the background, one after the other.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <queue>
#include <thread>

#include "dist/communicator.h"

namespace roll {

class Worker {
 public:
  Worker();
  /// Waits until all queued work has ended.
  ~Worker();

  /// Queues `work` behind all earlier work and returns at once. wait() of the result rethrows an exception of `work`,
  /// which is lost otherwise.
  std::unique_ptr<Pending> run(std::function<void()> work);
  /// Returns true if some queued work has not ended.
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
