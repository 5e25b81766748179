// Waits in one thread for many objects with poll descriptors and wake-up times, such as child programs.
#pragma once

#include <algorithm>
#include <vector>

#include "process/child_process.h"

namespace roll {

template <class T>
class PollSet {
 public:
  using Clock = ChildProcess::Clock;

  /// Adds a member. The caller appends its descriptors to the returned list. The member is ready at the time `look`, or
  /// as soon as a descriptor is.
  std::vector<pollfd>& add(T& object, Clock::time_point look) {
    members_.push_back({&object, polls_.size(), look});
    return polls_;
  }

  /// Descriptors that end the wait without belonging to a member; add them before the first add().
  std::vector<pollfd>& others() { return polls_; }

  /// Waits until a member or other descriptor is ready, at most until `look`. Returns the members that are ready.
  std::vector<T*> wait(Clock::time_point look = Clock::time_point::max()) {
    for (const Member& member : members_) look = std::min(look, member.look);
    poll_until(look, polls_);
    std::vector<T*> ready;
    const auto now = Clock::now();
    for (size_t i = 0; i < members_.size(); ++i) {
      const size_t end = i + 1 < members_.size() ? members_[i + 1].begin : polls_.size();
      bool is_ready = members_[i].look <= now;
      for (size_t poll = members_[i].begin; poll < end; ++poll) is_ready |= polls_[poll].revents != 0;
      if (is_ready) ready.push_back(members_[i].object);
    }
    return ready;
  }

 private:
  struct Member {
    T* object;
    size_t begin;  // index of its first descriptor in polls_
    Clock::time_point look;
  };
  std::vector<pollfd> polls_;
  std::vector<Member> members_;
};

}  // namespace roll
