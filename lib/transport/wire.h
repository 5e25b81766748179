// How the host back-ends move bytes: one primitive, a simultaneous exchange with other ranks. All collectives are built
// on it once (host_communicator.h), so MPI and sockets behave alike, and a wait always knows who is missing.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dist/communicator.h"

namespace roll {

/// The end of one wait: which collective, how long, and what to say. Spins first (a 4 MB reduce takes about a
/// millisecond), then yields, then sleeps, so that a long wait leaves the cores to the ranks that still work. A patient
/// one only sleeps.
class Wait {
 public:
  Wait(const Whereabouts& place, std::string_view collective, double timeout_s, bool is_patient = false);
  /// To be called between looks. `late`: the ranks not heard from. SystemError after the time limit, naming them,
  /// unless there are none. A wish to stop changes nothing: those that are missing may be finishing a step, or saving
  /// it.
  void pause(const std::function<std::vector<int>()>& late);
  /// "rank 0 of 4, step 12: all-reduce 'gradients'"
  std::string where() const;

 private:
  Whereabouts place_;
  std::string collective_;
  double timeout_s_;
  bool is_patient_;
  double start_s_;
};

struct Outgoing {
  int rank;
  std::span<const std::byte> bytes;
};
struct Incoming {
  int rank;
  std::span<std::byte> bytes;
};

/// Ranks are numbered within the wire; errors name the processes' own numbers in the world.
class Wire {
 public:
  virtual ~Wire() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number in the world of a rank of this wire.
  virtual int in_world(int member) const = 0;
  virtual std::string_view kind() const = 0;
  /// Sends and receives all at once and returns when all is through. Both sides name the same sizes; messages of a pair
  /// of ranks keep their order. At most 1 GiB each. Errors as Wait's, and SystemError when a peer is gone.
  virtual void exchange(std::span<const Outgoing> out, std::span<const Incoming> in, Wait& wait) = 0;
  /// Makes an exchange that runs in another thread end with SystemError, for its buffers are about to go.
  virtual void abandon() = 0;
  /// A wire among `members` (ascending ranks of this one) on a channel of its own: both may be used at once, from two
  /// threads. All ranks call it equally often. **Collective**. SystemError.
  virtual std::unique_ptr<Wire> split(const std::vector<int>& members, double timeout_s) = 0;
};

/// Over MPI_COMM_WORLD; begins MPI, and ends it when the job ends well. **Collective**. SystemError.
std::unique_ptr<Wire> make_mpi_wire();

/// Whether MPI has begun and not ended in this process.
bool mpi_is_running();
/// MPI_Abort: mpirun ends all ranks and itself exits with `exit_code`.
void mpi_abort(int exit_code);

/// "Open MPI v4.1.4"; may be asked before MPI begins.
std::string mpi_version();

/// What ranks that find each other over sockets are told.
struct TcpStart {
  std::string address;  // of rank 0, or of torchrun's agent
  int port = 0;
  bool one_host = false;  // all ranks are known to run on one host: only its loopback is used
  std::string secret{};   // ROLL_JOB_SECRET
};

/// Over sockets between all pairs, after a meeting (meeting.h). **Collective**. SystemError names who did not come
/// within the time limit.
std::unique_ptr<Wire> make_tcp_wire(int rank, int size, const TcpStart& start, double timeout_s);

}  // namespace roll
