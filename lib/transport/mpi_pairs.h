// Implements a wire (wire.h) over MPI for small groups: messages go between all pairs of the group's processes.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "transport/mpi_session.h"
#include "transport/pairs_wire.h"

namespace roll {

/// The wire of one group. Each group has a channel, which is an MPI tag: messages between two ranks on a channel keep
/// their order and never mix with those of other channels.
class MpiPairs : public PairsWire {
 public:
  /// `members`: the group's ranks in MPI_COMM_WORLD, ascending, with this process. `few`: most ranks of a group made by
  /// split() that sends in pairs; larger groups use MPI's collectives. All members pass the same `members`, `channel`
  /// and `few`.
  MpiPairs(std::shared_ptr<MpiSession> session, std::vector<int> members, int channel, int few);

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(members_.size()); }
  int in_world(int member) const override { return members_.at(static_cast<size_t>(member)); }
  std::string_view kind() const override { return "mpi"; }

  void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) override;
  void abandon() override { session_->give_up(); }
  std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) override;

  MpiSession& session() { return *session_; }
  /// Returns the group's ranks in MPI_COMM_WORLD, in the order of their ranks in the wire.
  const std::vector<int>& members() const { return members_; }
  int channel() const { return channel_; }

 private:
  int free_channel(const std::vector<int>& members, Wait& wait);
  int post(std::span<const Outgoing> out, std::span<const Incoming> in, std::vector<MPI_Request>& requests,
           std::vector<int>& peers) const;
  std::vector<int> late_ranks(const std::vector<MPI_Request>& requests, const std::vector<int>& peers) const;
  void forget(std::vector<MPI_Request>& requests);

  std::shared_ptr<MpiSession> session_;
  std::vector<int> members_;
  int channel_;
  int few_;
  int rank_;
};

/// Returns `pairs` itself for a group of at most `few` processes, else a wire that uses MPI's own collectives.
/// **Collective** among the group's processes. Throws SystemError if MPI cannot create the group.
std::unique_ptr<Wire> make_group_wire(std::unique_ptr<MpiPairs> pairs, int few);

}  // namespace roll
