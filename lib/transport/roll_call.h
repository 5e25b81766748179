// Finds the ranks that have not reached a collective, since MPI's own collectives cannot tell. When one is late, its
// ranks ask each other, on a separate channel, how many collectives of that group they have reached. Every process that
// waits for MPI, in any group, answers. The caller holds the session's mutex.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "transport/mpi_calls.h"

namespace roll {

class RollCall {
 public:
  /// Counts one more collective of the group with this channel.
  void arrive(int channel) { ++reached_[channel]; }
  /// Answers other processes' questions, and records their answers.
  void listen();
  /// Asks these processes how many collectives they have reached.
  void ask(const std::vector<int>& processes, int channel);
  /// Returns the processes that are not known to have reached as many collectives as this one.
  std::vector<int> absent(const std::vector<int>& processes, int channel) const;

 private:
  struct Note {
    int is_question;
    int channel;
    int64_t reached;  // collectives that the sender has reached
  };
  struct Sent {
    Note note;
    MPI_Request request;
  };
  void send(int process, const Note& note);
  int64_t reached(int channel) const;

  std::map<int, int64_t> reached_;                   // by channel: collectives that this process has reached
  std::map<std::pair<int, int>, int64_t> reported_;  // by channel and process: collectives reached
  std::list<Sent> sent_;
};

}  // namespace roll
