// A thread that runs collectives beside other work, one after the other.
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
  /// Lets what was given run to its end.
  ~Worker();

  /// Runs `work` after all earlier ones. wait() rethrows what it threw; without wait() that is lost.
  std::unique_ptr<Pending> run(std::function<void()> work);
  /// Whether something was given that has not ended.
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
