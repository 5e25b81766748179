// A team of threads that runs many short stages in one parallel region, for the CPU decoder. at::parallel_for would
// open a region per stage. Barriers spin, because the next stage is microseconds away.
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

    /// Runs task(i) once for each i in [0, count), on the next free member, and returns when all are done. Every member
    /// must call it with the same count. Tasks must not write to the same memory.
    template <class Task>
    void share(int64_t count, const Task& task) {
      try {
        for (int64_t i = team_.next_.fetch_add(1); i < count; i = team_.next_.fetch_add(1)) task(i);
      } catch (...) {
        team_.note_failure();
      }
      team_.wait_for_all();
    }

    /// Runs task() on the thread that called run(), as MPI may require; the other members wait.
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

  /// Runs body(member) on at::get_num_threads() threads at once; inside another parallel region, on this thread alone.
  /// Rethrows the first exception of a task after the body has ended; later stages still run.
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
