// Finds the ranks that have not reached a collective, for error messages, because MPI's own collectives cannot tell.
// Used by MpiSession. When a collective is late, its ranks ask each other how many collectives of that group they have
// reached, by messages with their own MPI tag. Every process that waits for MPI, in any group, answers. Groups are
// identified by their channel (mpi_pairs.h), processes by their rank in MPI_COMM_WORLD.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "transport/mpi_calls.h"

namespace roll {

/// The caller of each function must hold MpiSession::mutex.
class RollCall {
 public:
  /// Counts that this process has reached one more collective of the group.
  void arrive(int channel) { ++reached_[channel]; }
  /// Receives messages, without waiting: answers questions, and records answers.
  void listen();
  /// Sends a question to those of these processes that absent() returns. Their answers come by listen().
  void ask(const std::vector<int>& processes, int channel);
  /// Returns those of these processes that are not known to have reached as many of the group's collectives as this
  /// process.
  std::vector<int> absent(const std::vector<int>& processes, int channel) const;

 private:
  /// Message between processes.
  struct Note {
    int is_question;  // 1: the receiver answers with its own number; 0: an answer
    int channel;
    int64_t reached;  // collectives that the sender has reached
  };
  /// A message in transit, whose buffer must stay alive.
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
