// Waits in one thread for many objects with poll(2) descriptors, such as child programs (ChildProcess::go_on()).
#pragma once

#include <algorithm>
#include <vector>

#include "process/child_process.h"

namespace roll {

/// The objects of one wait: add them all, then call wait() once. T: any type; PollSet keeps pointers to the objects,
/// which must live until then.
template <class T>
class PollSet {
 public:
  using Clock = ChildProcess::Clock;

  /// Adds an object. The caller appends the object's descriptors to the returned list before the next add(). The object
  /// is ready when one of its descriptors is ready, or when the time `wake_time` has come.
  std::vector<pollfd>& add(T& object, Clock::time_point wake_time) {
    members_.push_back({&object, polls_.size(), wake_time});
    return polls_;
  }

  /// Returns the list for descriptors that end the wait but belong to no object; append to it before the first add().
  std::vector<pollfd>& others() { return polls_; }

  /// Waits until an object or another descriptor is ready, at most until `end_time`. Returns the objects that are
  /// ready, perhaps none. Throws SystemError if ppoll(2) fails.
  std::vector<T*> wait(Clock::time_point end_time = Clock::time_point::max()) {
    for (const Member& member : members_) end_time = std::min(end_time, member.wake_time);
    poll_until(end_time, polls_);
    std::vector<T*> ready;
    const auto now = Clock::now();
    for (size_t i = 0; i < members_.size(); ++i) {
      const size_t end = i + 1 < members_.size() ? members_[i + 1].begin : polls_.size();
      bool is_ready = members_[i].wake_time <= now;
      for (size_t poll = members_[i].begin; poll < end; ++poll) is_ready |= polls_[poll].revents != 0;
      if (is_ready) ready.push_back(members_[i].object);
    }
    return ready;
  }

 private:
  struct Member {
    T* object;
    size_t begin;  // index of its first descriptor in polls_
    Clock::time_point wake_time;
  };
  std::vector<pollfd> polls_;
  std::vector<Member> members_;
};

}  // namespace roll
