// Threads that stay together for many short stages: one parallel region where at::parallel_for would open one a stage,
// and barriers that spin, because the next stage is microseconds away.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace roll {

class ThreadTeam {
 public:
  class Member {
   public:
    int64_t index() const { return index_; }
    int64_t size() const { return team_.size_; }

    /// task(i) for each i in [0, count), once, by whichever member is free; returns on every member when all are done.
    /// Every member must call it with the same count. Tasks must not write to the same memory.
    template <class Task>
    void share(int64_t count, const Task& task) {
      try {
        for (int64_t i = team_.next_.fetch_add(1); i < count; i = team_.next_.fetch_add(1)) task(i);
      } catch (...) {
        team_.note_failure();
      }
      team_.wait_for_all();
    }

    /// task() by the member that called run(), which MPI may need; the others wait.
    template <class Task>
    void once(const Task& task) {
      if (index_ == 0) try {
          task();
        } catch (...) {
          team_.note_failure();
        }
      team_.wait_for_all();
    }

   private:
    friend ThreadTeam;
    Member(ThreadTeam& team, int64_t index) : team_(team), index_(index) {}
    ThreadTeam& team_;
    int64_t index_;
  };

  /// body(member) on as many threads as at::get_num_threads(), at the same time (inside another parallel region: on
  /// this one alone). What a task threw is thrown here, after the stages that follow it have run on what it left.
  void run(const std::function<void(Member&)>& body);

 private:
  void note_failure();
  void wait_for_all();

  int64_t size_ = 1;
  std::atomic<int64_t> next_ = 0;
  alignas(64) std::atomic<int64_t> num_arrived_ = 0;
  alignas(64) std::atomic<uint32_t> stage_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace roll
