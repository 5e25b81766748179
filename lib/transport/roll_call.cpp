#include "transport/roll_call.h"

#include <algorithm>

namespace roll {

namespace {

constexpr int kRollCallTag = 5;

}  // namespace

void RollCall::send(int process, const Note& note) {
  // Failed sends are ignored: an unreachable process counts as late anyway.
  std::erase_if(sent_, [](Sent& sent) {
    int done = 0;
    return MPI_Test(&sent.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done;
  });
  Sent& sent = sent_.emplace_back(Sent{note, MPI_REQUEST_NULL});
  MPI_Isend(&sent.note, sizeof sent.note, MPI_BYTE, process, kRollCallTag, MPI_COMM_WORLD, &sent.request);
}

int64_t RollCall::reached(int channel) const {
  const auto found = reached_.find(channel);
  return found == reached_.end() ? 0 : found->second;
}

void RollCall::listen() {
  while (true) {
    int found = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, kRollCallTag, MPI_COMM_WORLD, &found, &status);
    if (!found) return;
    Note note{};
    MPI_Recv(&note, sizeof note, MPI_BYTE, status.MPI_SOURCE, kRollCallTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int64_t& reported = reported_[{note.channel, status.MPI_SOURCE}];
    reported = std::max(reported, note.reached);
    if (note.is_question) send(status.MPI_SOURCE, {false, note.channel, reached(note.channel)});
  }
}

void RollCall::ask(const std::vector<int>& processes, int channel) {
  for (const int process : absent(processes, channel)) send(process, {true, channel, reached(channel)});
}

std::vector<int> RollCall::absent(const std::vector<int>& processes, int channel) const {
  int own_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &own_rank);
  std::vector<int> missing;
  for (const int process : processes) {
    const auto reported = reported_.find({channel, process});
    if (process != own_rank && (reported == reported_.end() || reported->second < reached(channel)))
      missing.push_back(process);
  }
  return missing;
}

}  // namespace roll
