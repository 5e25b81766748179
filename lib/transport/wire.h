// Moves bytes between hosts' processes; the collectives of host_communicator.h are built on it.
//   PairsWire  messages between all pairs of ranks: sockets (tcp_wire.cpp), and small groups over MPI (mpi_pairs.h)
//   MpiWire    MPI's own non-blocking collectives (mpi_wire.cpp)
// All waits are our own, so that they end in time and say who is missing.
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "transport/head.h"
#include "transport/wait.h"

namespace roll {

/// Largest group that sends small tensors to everyone at once; larger groups send through their first rank.
constexpr int kFewRanks = 8;
/// Largest "small" size: bytes of each rank, or of one message.
constexpr int64_t kSmall_bytes = 16 << 10;

/// Ranks are numbered within the wire; errors use the numbers in the world. All functions but the getters are
/// **Collective** and throw Wait's errors. SystemError: a peer is gone or an earlier collective failed. Tensors are
/// contiguous, on the host, of any dtype and size, and must live as long as a transport may use them.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the number in the world of a rank of this wire.
  virtual int in_world(int member) const = 0;
  virtual std::string_view kind() const = 0;

  /// Compares the ranks' heads; one of the three meet functions precedes every transfer. Bug: two heads differ; names
  /// both. meet(): all ranks contribute the same number of bytes.
  virtual void meet(const Head& local, Wait& wait) = 0;
  /// Compares heads of byte strings of any lengths; returns the lengths.
  virtual std::vector<int64_t> meet_strings(const Head& local, Wait& wait) = 0;
  /// Compares heads of an all-to-all: `out[r]` bytes go to rank r, `in[r]` come from it; this rank's own are 0.
  virtual void meet_parts(const Head& local, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                          Wait& wait) = 0;

  /// Sends `out[r]` to rank r's `in[rank()]`, except this rank's own. Empty or undefined tensors are not sent.
  virtual void all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) = 0;
  /// Completes `all` with sizes[r] bytes of each rank r, in rank order; this rank's own are in place.
  virtual void all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) = 0;
  /// Sends equal parts to the first rank's `all`, in rank order; its own part is in place. `all` is unused elsewhere.
  virtual void gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) = 0;
  virtual void broadcast(const at::Tensor& tensor, int root, Wait& wait) = 0;

  /// Makes a collective in another thread end with SystemError, because its buffers are about to be destroyed.
  virtual void abandon() = 0;
  /// Creates a wire among `members` (ascending ranks of this one) on a new channel. Both wires may be used at once,
  /// from two threads. All ranks call it equally often.
  virtual std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) = 0;
};

/// Creates a wire over MPI_COMM_WORLD; starts MPI, and finalizes it if the job ends well. Groups of up to `few` ranks
/// send in pairs, which is faster for them. **Collective**; a second call must precede any split. SystemError: MPI
/// fails.
std::unique_ptr<Wire> make_mpi_wire(int few = kFewRanks);

/// Returns true if MPI is initialized and not finalized in this process.
bool mpi_is_running();
/// Calls MPI_Abort: mpirun ends all ranks and exits with `exit_code`.
void mpi_abort(int exit_code);

/// Returns "Open MPI v4.1.4"; works before MPI starts.
std::string mpi_version();

/// Settings of ranks that find each other over sockets.
struct TcpStart {
  std::string address;  // address of rank 0, or of torchrun's agent
  int port = 0;
  bool one_host = false;  // all ranks run on one host, so only its loopback is used
  std::string secret{};   // ROLL_JOB_SECRET
};

/// Creates a wire over sockets between all pairs, after a rendezvous (rendezvous.h). **Collective**. UserError: more
/// than 128 ranks. SystemError: names the ranks that did not come within the time limit.
std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const TcpStart& start, double timeout_s);

}  // namespace roll
