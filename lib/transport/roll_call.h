// Who has not come to a collective: MPI's own ones do not tell for whom they wait. When one is late, its ranks ask each
// other on a channel of their own how far they are in that group; whoever waits for MPI, in whatever group, answers.
// All of it under the session's mutex.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "transport/mpi_calls.h"

namespace roll {

class RollCall {
 public:
  /// This process has come to one more collective of the group whose channel that is.
  void arrive(int channel) { ++reached_[channel]; }
  /// Answers what other processes ask, and notes what they answer.
  void listen();
  /// Asks those processes.
  void ask(const std::vector<int>& processes, int channel);
  /// Those that have not said that they have come as far as this process.
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
