// How the host back-ends move bytes: what host_communicator.h makes its collectives of.
//   PairsWire  messages between all pairs of ranks: sockets (tcp_wire.cpp), and small groups over MPI (mpi_pairs.h)
//   MpiWire    MPI's own non-blocking collectives (mpi_wire.cpp)
// Every wait is ours, so that it ends in time and says who is missing.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/head.h"
#include "transport/wait.h"

namespace roll {

/// Groups of up to so many ranks send small things to everyone at once; larger ones by way of their first rank.
constexpr int kFewRanks = 8;
/// Bytes of each rank, or of one message, that are small.
constexpr int64_t kSmall_bytes = 16 << 10;

/// Ranks are numbered within the wire; errors name the processes' own numbers in the world. All but the first few are
/// **Collective**, with errors as Wait's, and SystemError when a peer is gone or an earlier collective failed.
/// Tensors are contiguous, on the host, of any dtype and size, and stay alive while a transport may still use them.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number in the world of a rank of this wire.
  virtual int in_world(int member) const = 0;
  virtual std::string_view kind() const = 0;

  /// The ranks compare their heads. One of the three meet functions precedes whatever is sent; Bug when two heads
  /// differ, which names both. meet(): all ranks give as many bytes.
  virtual void meet(const Head& mine, Wait& wait) = 0;
  /// The heads of byte strings of any lengths; returns the lengths.
  virtual std::vector<int64_t> meet_strings(const Head& mine, Wait& wait) = 0;
  /// The heads of an all-to-all: `out[r]` bytes go to rank r, `in[r]` are expected of it; this rank's own are 0.
  virtual void meet_parts(const Head& mine, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                          Wait& wait) = 0;

  /// `out[r]` goes to rank r, into its `in[rank()]`; without this rank's own. What is empty or undefined is not sent.
  virtual void all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) = 0;
  /// `all` holds sizes[r] bytes of each rank r, in rank order; this rank's own are in their place.
  virtual void all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) = 0;
  /// Equal parts to the first rank, where `all` holds them in rank order, its own in its place; elsewhere it is unused.
  virtual void gather_at_first(const at::Tensor& mine, const at::Tensor& all, Wait& wait) = 0;
  virtual void broadcast(const at::Tensor& tensor, int root, Wait& wait) = 0;

  /// Makes a collective that runs in another thread end with SystemError, for what it uses is about to go.
  virtual void abandon() = 0;
  /// A wire among `members` (ascending ranks of this one) on a channel of its own: both may be used at once, from two
  /// threads. All ranks call it equally often.
  virtual std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) = 0;
};

/// Over MPI_COMM_WORLD; begins MPI, and ends it when the job ends well. Groups of up to `few` ranks send in pairs,
/// which is quicker there. **Collective**; once more only before anything is split. SystemError.
std::unique_ptr<Wire> make_mpi_wire(int few = kFewRanks);

/// Whether MPI has begun and not ended in this process.
bool mpi_is_running();
/// MPI_Abort: mpirun ends all ranks and itself exits with `exit_code`.
void mpi_abort(int exit_code);

/// "Open MPI v4.1.4"; may be asked before MPI begins.
std::string mpi_version();

/// What ranks know that find each other over sockets.
struct TcpStart {
  std::string address;  // of rank 0, or of torchrun's agent
  int port = 0;
  bool one_host = false;  // all ranks are known to run on one host: only its loopback is used
  std::string secret{};   // ROLL_JOB_SECRET
};

/// Over sockets between all pairs, after a rendezvous (rendezvous.h). **Collective**. UserError: more ranks than that
/// is good for (128); SystemError names who did not come within the time limit.
std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const TcpStart& start, double timeout_s);

}  // namespace roll
