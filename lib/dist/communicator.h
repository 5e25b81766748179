// Collectives among a group of ranks (processes with a device each), like an MPI communicator or a torch.distributed
// process group. Every public member except rank(), size() and other getters is **Collective**: all ranks call it in
// the same order, with the same shape, dtype and name. Goals: a rank that makes another call, is late or dies becomes
// an error that names rank, collective and step. Sums do not depend on timing: host back-ends add in rank order, and
// every rank gets the same bits. Collectives named start_... run asynchronously.
//   single  one process                       mpi   started by mpirun or srun, through host memory
//   tcp     torchrun-style variables, sockets  nccl  CUDA tensors over NCCL, everything else over mpi or tcp
//   threads  ranks as threads of one process, to predict a job of many ranks (thread_ranks.h)
// CUDA tensors go through host memory if several ranks share a GPU, which NCCL does not support.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dist/traffic.h"

namespace roll {

enum class Reduce { kSum, kMax, kMin };

/// Returns true for bfloat16 and float16, which are summed in float32 and rounded once.
bool is_narrow(at::ScalarType dtype);

/// Rank and step of a wait, for error texts: "rank 1 of 4, step 12".
struct Whereabouts {
  int rank = 0;
  int size = 1;
  int64_t step = -1;  // -1: before the first step
};
std::string to_string(const Whereabouts& place);

/// An asynchronous collective.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Waits until the result may be used (CUDA: by kernels enqueued afterwards). Throws the collective's errors.
  virtual void wait() = 0;
  /// Returns true if wait() would return, or throw, at once.
  virtual bool is_done() = 0;
  /// Time of the run (monotonic_s()), valid after wait(). NCCL: from its start to wait().
  double begin_s() const { return begin_s_; }
  double end_s() const { return end_s_; }

 protected:
  double begin_s_ = 0, end_s_ = 0;
};

/// This process in a communicator and in the whole job.
struct Membership {
  int rank = 0;
  int size = 1;
  Whereabouts world{};                    // field `step` is unused
  std::string group = "world";            // name in errors and counts
  std::shared_ptr<Traffic> traffic = {};  // shared by all communicators of the process
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int size() const { return membership_.size; }
  bool is_first() const { return membership_.rank == 0; }
  /// Returns false for `single`, whose collectives return their input, so that callers may skip them.
  bool communicates() const { return kind() != "single"; }
  virtual std::string_view kind() const = 0;
  const std::string& group() const { return membership_.group; }
  /// Returns the counts of sent data, and the step for error texts.
  Traffic& traffic() { return *membership_.traffic; }
  void set_step(int64_t step) { membership_.traffic->set_step(step); }
  /// Counts each following collective as `times` equal ones; for communicators that only count
  /// (forecast/planned_ranks.h).
  void count_times(int64_t times) { times_ = times; }

  /// Creates a communicator among `members` (ascending ranks of this one, this rank included); its messages never mix
  /// with this one's. **Collective**: each rank passes its own group's members. A group of one is `single`, unless this
  /// communicator has only one rank itself. `group` is its name in errors and counts ("tp").
  virtual std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) = 0;

  /// Reduces element-wise over ranks, in place, any shape. dtypes: float32, float64, int64 and narrow floats
  /// (is_narrow). `name` identifies the tensor in errors. SystemError: a rank is late or gone. Bug: ranks differ.
  void all_reduce_sum(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kSum, name); }
  void all_reduce_max(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMax, name); }
  void all_reduce_min(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMin, name); }
  void all_reduce(at::Tensor& tensor, Reduce op, std::string_view name);
  /// Reduces one number over ranks; added in the same order as above.
  double all_reduce(double value, Reduce op, std::string_view name);
  int64_t all_reduce(int64_t value, Reduce op, std::string_view name);
  double all_reduce_sum(double value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  double all_reduce_max(double value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_sum(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  int64_t all_reduce_max(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_min(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMin, name); }

  /// Copies root's tensor to every rank's `tensor`. Any shape and dtype.
  void broadcast(at::Tensor& tensor, int root, std::string_view name);
  /// Returns the tensors of all ranks, in rank order; shapes and dtypes must be equal.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor, std::string_view name);
  /// Concatenates all ranks' tensors along dimension 0: [n, ...] of each rank -> [size * n, ...].
  at::Tensor all_gather_rows(const at::Tensor& tensor, std::string_view name);
  /// Sums `all` [size * n, ...] over ranks and returns rows [rank * n, (rank + 1) * n). dtypes as in all_reduce.
  at::Tensor reduce_scatter_rows(const at::Tensor& all, std::string_view name);

  /// Sums dense tensors over ranks asynchronously. Until wait(), the tensors must stay alive and untouched, and only
  /// start_ functions of this communicator may be called. `local` receives this rank's part of `all`, and may be a view
  /// into it; the rest of `all` becomes undefined.
  std::unique_ptr<Pending> start_reduce_scatter(const at::Tensor& all, const at::Tensor& local, std::string_view name);
  std::unique_ptr<Pending> start_all_reduce(const at::Tensor& tensor, std::string_view name);
  /// Sends root's tensor, which does not change, to the others; these may call broadcast() instead.
  std::unique_ptr<Pending> start_broadcast(const at::Tensor& tensor, int root, std::string_view name);
  /// Gathers every rank's `local` into `all` [size * n]; `local` may be this rank's part of `all`.
  std::unique_ptr<Pending> start_all_gather(const at::Tensor& local, const at::Tensor& all, std::string_view name);
  /// All-to-all of equal blocks: block r of `out` [size * n] becomes block rank() of rank r's `in`. Over NCCL, this is
  /// the only exchange that does not involve the host.
  std::unique_ptr<Pending> start_all_to_all(const at::Tensor& out, const at::Tensor& in, std::string_view name);
  /// All-to-all: `out[r]` goes to rank r and becomes its `in[rank()]`; a rank also sends to itself. Tensors are
  /// contiguous, on one device, of any dtype; undefined or empty ones are not sent. Bug: a rank sends another size than
  /// the receiver expects.
  void exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, std::string_view name);
  /// Like exchange(), asynchronously.
  std::unique_ptr<Pending> start_exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                                          std::string_view name);
  /// Returns the byte strings of all ranks, in rank order; lengths may differ.
  virtual std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) = 0;
  /// Returns the byte strings of all ranks on the first rank; an empty list elsewhere.
  virtual std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) = 0;
  /// Like all_gather_bytes(), asynchronously, into `all`. For occasional news rather than urgent data: it polls for the
  /// others' bytes every half millisecond.
  virtual std::unique_ptr<Pending> start_all_gather_bytes(std::string local,
                                                          std::shared_ptr<std::vector<std::string>> all,
                                                          std::string_view name) = 0;
  /// Returns root's bytes on every rank.
  std::string broadcast_bytes(std::string_view local, int root, std::string_view name);
  void barrier(std::string_view name) { all_gather_bytes({}, name); }

 protected:
  explicit Communicator(Membership membership);
  /// The collectives above on dense contiguous tensors; `all` holds the ranks' parts one after another.
  virtual void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) = 0;
  virtual void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) = 0;
  virtual void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) = 0;
  virtual void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) = 0;
  virtual void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name);
  /// Like exchange(), without this rank's own part; every tensor is defined.
  virtual void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                              std::string_view name) = 0;
  /// Starts a collective asynchronously; several run in the order of their calls.
  virtual std::unique_ptr<Pending> start(std::function<void()> collective) = 0;

  /// Returns this process's place in the whole job, at the current step.
  Whereabouts place() const;
  int64_t times() const { return times_; }
  /// Returns this process's membership in a group that it splits off.
  Membership membership_in(const std::vector<int>& members, const std::string& group) const;

 private:
  Membership membership_;
  int64_t times_ = 1;
};

}  // namespace roll
