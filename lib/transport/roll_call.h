// Finds the ranks that have not reached a collective, for errors, since MPI's own collectives cannot tell. When a
// collective is late, its ranks ask each other, by messages with a tag of their own, how many collectives of that group
// they have reached. Every process that waits for MPI, in any group, answers. Groups are identified by their channel
// (mpi_pairs.h), processes by their rank in MPI_COMM_WORLD. The caller must hold MpiSession::mutex.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "transport/mpi_calls.h"

namespace roll {

class RollCall {
 public:
  /// Counts that this process has reached one more collective of the group.
  void arrive(int channel) { ++reached_[channel]; }
  /// Receives messages, without waiting: answers questions, and records answers.
  void listen();
  /// Asks the absent() ones of these processes how many of the group's collectives they have reached.
  void ask(const std::vector<int>& processes, int channel);
  /// Returns the processes that have not answered that they have reached as many collectives as this process.
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
