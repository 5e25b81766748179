#include "transport/worker.h"

#include <future>

#include "base/clock.h"

namespace roll {

namespace {

struct Times {
  double begin_s = 0, end_s = 0;
};

struct Future : Pending {
  explicit Future(std::future<Times> f) : future(std::move(f)) {}
  void wait() override {
    const Times times = future.get();
    begin_s_ = times.begin_s;
    end_s_ = times.end_s;
  }
  bool is_done() override { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }
  std::future<Times> future;
};

}  // namespace

Worker::Worker() : thread_([this] { loop(); }) {}

Worker::~Worker() {
  {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::unique_ptr<Pending> Worker::run(std::function<void()> work) {
  auto task = std::make_shared<std::packaged_task<Times()>>([work = std::move(work)] {
    const double begin_s = monotonic_s();
    work();
    return Times{begin_s, monotonic_s()};
  });
  auto pending = std::make_unique<Future>(task->get_future());
  {
    const std::scoped_lock lock(mutex_);
    queue_.emplace([task] { (*task)(); });
  }
  changed_.notify_one();
  return pending;
}

bool Worker::is_busy() {
  const std::scoped_lock lock(mutex_);
  return is_running_ || !queue_.empty();
}

void Worker::loop() {
  while (true) {
    std::function<void()> next;
    {
      std::unique_lock lock(mutex_);
      is_running_ = false;
      changed_.wait(lock, [this] { return is_ending_ || !queue_.empty(); });
      if (queue_.empty()) return;
      next = std::move(queue_.front());
      queue_.pop();
      is_running_ = true;
    }
    next();
  }
}

}  // namespace roll
