#include "transport/mpi_pairs.h"

#include <algorithm>
#include <array>

namespace roll {

namespace {

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

}  // namespace

MpiPairs::MpiPairs(std::shared_ptr<MpiSession> session, std::vector<int> members, int channel, int few)
    : session_(std::move(session)),
      members_(std::move(members)),
      channel_(channel),
      few_(few),
      rank_(static_cast<int>(std::ranges::find(members_, own_rank()) - members_.begin())) {}

std::unique_ptr<Wire> MpiPairs::split(const std::vector<int>& members, double timeout_s) {
  std::vector<int> processes;
  for (const int member : members) processes.push_back(in_world(member));
  Wait wait({in_world(rank_), size(), -1}, {"start of a group over mpi"}, timeout_s);
  const int channel = free_channel(members, wait);
  session_->next_channel = channel + 1;
  return make_group_wire(std::make_unique<MpiPairs>(session_, std::move(processes), channel, few_), few_);
}

/// Returns a channel that no member uses: processes in different groups have used different ones.
int MpiPairs::free_channel(const std::vector<int>& members, Wait& wait) {
  int channel = session_->next_channel;
  const auto int_bytes = [](int& number) { return std::as_writable_bytes(std::span(&number, 1)); };
  if (rank_ != members.front()) {
    exchange(std::array{Outgoing{members.front(), int_bytes(channel)}}, {}, wait);
    exchange({}, std::array{Incoming{members.front(), int_bytes(channel)}}, wait);
    return channel;
  }
  std::vector<int> channels(members.size(), channel);
  std::vector<Incoming> in;
  std::vector<Outgoing> out;
  for (size_t i = 1; i < members.size(); ++i) {
    in.push_back({members[i], int_bytes(channels[i])});
    out.push_back({members[i], int_bytes(channel)});
  }
  exchange({}, in, wait);
  channel = std::ranges::max(channels);
  exchange(out, {}, wait);
  return channel;
}

void MpiPairs::exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) {
  session_->check_whole(wait);
  std::vector<MPI_Request> requests;
  std::vector<int> peers;
  try {
    session_->call("MPI_Isend", wait, [&] { return post(out, in, requests, peers); });
    session_->finish(requests, wait, [&] { return late_ranks(requests, peers); });
  } catch (...) {
    forget(requests);
    throw;
  }
}

int MpiPairs::post(std::span<const Outgoing> out, std::span<const Incoming> in, std::vector<MPI_Request>& requests,
                   std::vector<int>& peers) const {
  const auto add = [&](int member) {
    peers.push_back(in_world(member));
    return &requests.emplace_back(MPI_REQUEST_NULL);
  };
  int code = MPI_SUCCESS;
  for (const Incoming& incoming : in) {
    MPI_Request* request = add(incoming.rank);
    if (code == MPI_SUCCESS)
      code = MPI_Irecv(incoming.bytes.data(), static_cast<int>(incoming.bytes.size()), MPI_BYTE, peers.back(), channel_,
                       MPI_COMM_WORLD, request);
  }
  for (const Outgoing& outgoing : out) {
    MPI_Request* request = add(outgoing.rank);
    if (code == MPI_SUCCESS)
      code = MPI_Isend(outgoing.bytes.data(), static_cast<int>(outgoing.bytes.size()), MPI_BYTE, peers.back(), channel_,
                       MPI_COMM_WORLD, request);
  }
  return code;
}

std::vector<int> MpiPairs::late_ranks(const std::vector<MPI_Request>& requests, const std::vector<int>& peers) const {
  const std::scoped_lock lock(session_->mutex);
  std::vector<int> late;
  for (size_t i = 0; i < requests.size(); ++i) {
    int done = 0;
    if (requests[i] != MPI_REQUEST_NULL) MPI_Request_get_status(requests[i], &done, MPI_STATUS_IGNORE);
    if (!done && std::ranges::find(late, peers[i]) == late.end()) late.push_back(peers[i]);
  }
  return late;
}

/// Makes MPI forget the requests of a broken exchange, since their buffers are about to be destroyed.
void MpiPairs::forget(std::vector<MPI_Request>& requests) {
  const std::scoped_lock lock(session_->mutex);
  session_->give_up();
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
}

}  // namespace roll
