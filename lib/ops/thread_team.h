// ThreadTeam runs many short stages, one after another, on the same threads in one parallel region, for the CPU
// decoder. With at::parallel_for each stage would be a separate region. Threads spin at the end of a stage, because the
// next one is microseconds away.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace roll {

/// A stage is a call of share() or once(), which all members make in the same order. One run() at a time per team.
class ThreadTeam {
 public:
  /// One thread's access to the team.
  class Member {
   public:
    /// Returns the index of this thread in the team, from 0 to size() - 1.
    int64_t index() const { return index_; }
    int64_t size() const { return team_.size_; }

    /// Runs task(i) once for each i in [0, count), each on the next free member, and returns when all are done. Every
    /// member must call it, with the same count. Tasks must not write to the same memory.
    template <class Task>
    void share(int64_t count, const Task& task) {
      try {
        for (int64_t i = team_.next_.fetch_add(1); i < count; i = team_.next_.fetch_add(1)) task(i);
      } catch (...) {
        team_.note_failure();
      }
      team_.wait_for_all();
    }

    /// Runs task() on the thread that called run() (MPI may allow calls on that thread only). Every member must call
    /// it, and waits until it is done.
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

  /// Runs body(member) on at::get_num_threads() threads at once, and returns when all have ended. Inside another
  /// parallel region the team is the calling thread alone. If tasks throw, the later stages still run, and then run()
  /// rethrows the first exception. A body that throws outside of tasks ends the program, because the
  /// other members would wait for ever.
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
