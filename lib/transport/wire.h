// Defines the interface that moves bytes between the processes of a group. The collectives of host_communicator.h are
// built on it. Implementations:
//   PairsWire  messages between all pairs of ranks: sockets (tcp_wire.cpp), and small groups over MPI (mpi_pairs.h)
//   MpiWire    MPI's own non-blocking collectives (mpi_wire.cpp)
// No wire blocks inside MPI or the system: each polls with a Wait (wait.h), which ends at a time limit with an error
// that names the missing ranks.
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
/// Largest tensor that counts as small, in bytes that one rank contributes.
constexpr int64_t kSmall_bytes = 16 << 10;

/// Transfers between the ranks of a group, which are numbered 0 to size() - 1; errors use ranks in the job. One thread
/// at a time may use a wire. All functions but the getters and abandon() are **Collective**. They throw SystemError at
/// the time limit of `wait`, if a peer is gone, or if an earlier collective failed. Tensors are contiguous, in host
/// memory, of any dtype and size, and must stay alive during the call.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Returns the rank in the job of rank `member` of this wire.
  virtual int in_world(int member) const = 0;
  /// Returns "mpi" or "tcp".
  virtual std::string_view kind() const = 0;

  // Every transfer below is preceded by one of the three meet functions, which compare the ranks' heads (head.h) and
  // throw Bug, naming both calls, if two differ.

  /// Compares heads, which must be equal on all ranks, also in their bytes.
  virtual void meet(const Head& local, Wait& wait) = 0;
  /// Compares heads of byte strings of any lengths; returns each rank's length.
  virtual std::vector<int64_t> meet_strings(const Head& local, Wait& wait) = 0;
  /// Compares heads of an all-to-all in which out[r] bytes go to rank r and in[r] bytes come from it; both are 0 for
  /// this rank.
  virtual void meet_parts(const Head& local, const std::vector<int64_t>& out, const std::vector<int64_t>& in,
                          Wait& wait) = 0;

  /// Copies out[r] to `in[rank()]` of rank r, for all r but rank(). Empty or undefined tensors are not sent.
  virtual void all_to_all(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, Wait& wait) = 0;
  /// Fills `all`, which holds sizes[r] bytes of each rank r in rank order. The caller has filled this rank's part.
  virtual void all_gather(const at::Tensor& all, const std::vector<int64_t>& sizes, Wait& wait) = 0;
  /// Fills the first rank's `all` with the ranks' `local`, equally large, in rank order. The first rank's caller has
  /// filled its own part; elsewhere `all` is ignored.
  virtual void gather_at_first(const at::Tensor& local, const at::Tensor& all, Wait& wait) = 0;
  /// Copies the tensor of rank `root` into every rank's `tensor`.
  virtual void broadcast(const at::Tensor& tensor, int root, Wait& wait) = 0;

  /// Makes a collective of this wire in another thread end with SystemError; called before its buffers are destroyed.
  /// Thread-safe.
  virtual void abandon() = 0;
  /// Makes a wire of `members`, ascending ranks of this wire that include this rank. Both wires may be used at once,
  /// from two threads. `timeout_s`: longest wait for the other members. **Collective** over this wire: each rank passes
  /// the members of the group that it joins.
  virtual std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) = 0;
};

/// Makes a wire of all ranks of MPI_COMM_WORLD. Starts MPI if necessary; the destructor of the last wire finalizes MPI
/// if no error occurred. Groups of up to `few` ranks send in pairs, which is faster for them. **Collective** over all
/// ranks; a second call must precede any split(). Throws SystemError if MPI fails.
std::unique_ptr<Wire> make_mpi_wire(int few = kFewRanks);

/// Returns true if MPI is initialized and not finalized in this process.
bool mpi_is_running();
/// Calls MPI_Abort: mpirun ends all ranks, this one included, and exits with `exit_code`.
void mpi_abort(int exit_code);

/// Returns "Open MPI v4.1.4"; works also before MPI starts.
std::string mpi_version();

/// Settings by which ranks find each other over sockets.
struct TcpStart {
  std::string address;    // MASTER_ADDR: host of rank 0, or of torchrun's agent
  int port = 0;           // MASTER_PORT
  bool one_host = false;  // all ranks run on one host, so only the loopback is used
  std::string secret{};   // ROLL_JOB_SECRET; "": not set
};

/// Makes a wire over sockets between all pairs of the job's ranks, after a rendezvous (rendezvous.h). `timeout_s`:
/// longest wait for the other ranks. Throws UserError for more than 128 ranks, and SystemError, which names the missing
/// ranks, at the time limit. **Collective** over the job.
std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const TcpStart& start, double timeout_s);

}  // namespace roll
