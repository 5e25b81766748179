// Which ranks have not come to a collective, for MPI's own collectives cannot say for whom they wait. When one is late,
// its ranks ask each other, on a channel of their own, how many collectives of that group they have come to; every
// process that waits for MPI, in any group, answers. The caller holds the session's mutex.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "transport/mpi_calls.h"

namespace roll {

class RollCall {
 public:
  /// Notes that this process has come to one more collective of the group that has `channel`.
  void arrive(int channel) { ++reached_[channel]; }
  /// Answers what other processes ask, and notes what they answer.
  void listen();
  /// Asks those processes.
  void ask(const std::vector<int>& processes, int channel);
  /// The processes that have not answered that they have come as far as this one.
  std::vector<int> absent(const std::vector<int>& processes, int channel) const;

 private:
  struct Note {
    int is_question;
    int channel;
    int64_t reached;  // by the process that says so
  };
  struct Sent {
    Note note;
    MPI_Request request;
  };
  void send(int process, const Note& note);
  int64_t reached(int channel) const;

  std::map<int, int64_t> reached_;                     // by channel: collectives that this process has come to
  std::map<std::pair<int, int>, int64_t> heard_from_;  // by channel and process
  std::list<Sent> sent_;
};

}  // namespace roll
