// Collectives among a group of ranks (processes with a device each), like an MPI communicator or a torch.distributed
// process group. Every public member function except getters and setters is **Collective**: all ranks of the group call
// it in the same order, with the same shape, dtype and name. Goals: if a rank makes another call, is late or dies, the
// others throw an error that names rank, collective and step. Sums do not depend on timing: host back-ends add in rank
// order, and every rank gets the same bits. Collectives named start_... run asynchronously. A communicator is not
// thread-safe. Values of kind():
//   single   one rank
//   mpi      processes started by mpirun or srun, through host memory
//   tcp      processes started with torchrun-style variables, over sockets, through host memory
//   nccl     CUDA tensors over NCCL, everything else over mpi or tcp
//   threads  ranks as threads of one process (thread_ranks.h)
//   planned  threads that count the traffic of a simulated job (forecast/planned_ranks.h)
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

/// Operation of a reduction.
enum class Reduce { kSum, kMax, kMin };

/// Returns true for bfloat16 and float16, which are reduced in float32 and rounded once.
bool is_narrow(at::ScalarType dtype);

/// Rank in the job and current step of this process, for error texts.
struct Whereabouts {
  int rank = 0;
  int size = 1;       // number of ranks in the job
  int64_t step = -1;  // -1: before the first step
};
/// Returns "rank 1 of 4, step 12"; without the step if it is -1.
std::string to_string(const Whereabouts& place);

/// An asynchronous collective. Call wait() before destroying it.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Waits until the result may be used (on CUDA: by kernels enqueued afterwards). Call it once. Throws the
  /// collective's errors.
  virtual void wait() = 0;
  /// Returns true if wait() would return, or throw, at once.
  virtual bool is_done() = 0;
  /// Return the seconds of monotonic_s() at which the collective began and ended, valid after wait(). Over NCCL, wait()
  /// counts as the end.
  double begin_s() const { return begin_s_; }
  double end_s() const { return end_s_; }

 protected:
  double begin_s_ = 0, end_s_ = 0;
};

/// Position of this process in a communicator and in the whole job; argument of the constructors.
struct Membership {
  int rank = 0;                           // rank in the communicator
  int size = 1;                           // number of the communicator's ranks
  Whereabouts world{};                    // rank and size in the job; field `step` is unused
  std::string group = "world";            // communicator's name in errors and counts of traffic
  std::shared_ptr<Traffic> traffic = {};  // shared by all communicators of the process; null: a new one is made
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return membership_.rank; }
  int size() const { return membership_.size; }
  bool is_first() const { return membership_.rank == 0; }
  /// Returns false for kind `single`: its collectives return their input, so callers may skip them.
  bool communicates() const { return kind() != "single"; }
  /// Returns one of the kinds listed above, such as "mpi".
  virtual std::string_view kind() const = 0;
  const std::string& group() const { return membership_.group; }
  /// Returns the state that all communicators of this process share: counts of sent data, and the step for error texts.
  Traffic& traffic() { return *membership_.traffic; }
  /// Sets the step for error texts, in all communicators of this process.
  void set_step(int64_t step) { membership_.traffic->set_step(step); }
  /// Makes each following collective count as `times` equal ones in the traffic, until the next call. Only kind
  /// `planned` reads this.
  void count_times(int64_t times) { times_ = times; }

  /// Returns a new communicator of `members`, ascending ranks of this communicator that include this rank. Messages of
  /// the two never mix. **Collective** over this communicator: each rank passes the members of the group that it joins.
  /// A group of one is `single`, except that `nccl` with one rank keeps its kind. `group` is the new communicator's
  /// name in errors and counts ("tp"). Throws Bug if `members` lacks this rank.
  virtual std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) = 0;

  // All collectives below throw SystemError if a rank is late or gone, and Bug if ranks make different calls. `name`
  // identifies the data in errors.

  /// Reduces element-wise over ranks, in place, for any shape. dtypes: float32, float64, int64, bfloat16, float16 (see
  /// is_narrow()); throws Bug for others.
  void all_reduce_sum(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kSum, name); }
  void all_reduce_max(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMax, name); }
  void all_reduce_min(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMin, name); }
  void all_reduce(at::Tensor& tensor, Reduce op, std::string_view name);
  /// Reduces one number of each rank, and returns the result on every rank.
  double all_reduce(double value, Reduce op, std::string_view name);
  int64_t all_reduce(int64_t value, Reduce op, std::string_view name);
  double all_reduce_sum(double value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  double all_reduce_max(double value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_sum(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  int64_t all_reduce_max(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_min(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMin, name); }

  /// Copies the tensor of rank `root` into every rank's `tensor`, for any shape and dtype.
  void broadcast(at::Tensor& tensor, int root, std::string_view name);
  /// Returns the tensors of all ranks, in rank order; shapes and dtypes must be equal.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor, std::string_view name);
  /// Concatenates all ranks' tensors along dimension 0: [n, ...] of each rank -> [size * n, ...].
  at::Tensor all_gather_rows(const at::Tensor& tensor, std::string_view name);
  /// Sums `all` [size * n, ...] over ranks and returns rows [rank * n, (rank + 1) * n). dtypes as in all_reduce().
  at::Tensor reduce_scatter_rows(const at::Tensor& all, std::string_view name);

  // The tensors of start_... functions must be contiguous. Until wait(), the caller must not change them or read
  // results, and may call only start_... functions of this communicator.

  /// Sums `all` [size * n] over ranks and writes elements [rank * n, (rank + 1) * n) to `local`, which may be a view of
  /// these elements in `all`. The content of the rest of `all` becomes undefined.
  std::unique_ptr<Pending> start_reduce_scatter(const at::Tensor& all, const at::Tensor& local, std::string_view name);
  /// Sums `tensor` over ranks, in place.
  std::unique_ptr<Pending> start_all_reduce(const at::Tensor& tensor, std::string_view name);
  /// Like broadcast(), asynchronously; some ranks may call broadcast() instead.
  std::unique_ptr<Pending> start_broadcast(const at::Tensor& tensor, int root, std::string_view name);
  /// Gathers every rank's `local` [n] into `all` [size * n], in rank order; `local` may be this rank's part of `all`.
  std::unique_ptr<Pending> start_all_gather(const at::Tensor& local, const at::Tensor& all, std::string_view name);
  /// All-to-all of equal blocks of n elements: block r of `out` [size * n] becomes block rank() of rank r's `in`
  /// [size * n].
  std::unique_ptr<Pending> start_all_to_all(const at::Tensor& out, const at::Tensor& in, std::string_view name);
  /// All-to-all of tensors, one per rank: `out[r]` is copied to rank r's `in[rank()]`, also for r = rank(). Tensors are
  /// contiguous, of any dtype. Undefined or empty ones are not sent. If one rank's are on a GPU, each rank has a tensor
  /// there, perhaps an empty one. Throws Bug if a rank sends another number of bytes than the receiver expects.
  void exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, std::string_view name);
  /// Like exchange(), asynchronously.
  std::unique_ptr<Pending> start_exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                                          std::string_view name);
  /// Returns the byte strings of all ranks, in rank order; lengths may differ.
  virtual std::vector<std::string> all_gather_bytes(std::string_view local, std::string_view name) = 0;
  /// Returns the byte strings of all ranks on the first rank; an empty list elsewhere.
  virtual std::vector<std::string> gather_bytes(std::string_view local, std::string_view name) = 0;
  /// Like all_gather_bytes(), asynchronously; `all` holds the result after wait(). For data that is not urgent: it
  /// polls for the others' bytes every half millisecond.
  virtual std::unique_ptr<Pending> start_all_gather_bytes(std::string local,
                                                          std::shared_ptr<std::vector<std::string>> all,
                                                          std::string_view name) = 0;
  /// Returns the bytes `local` of rank `root` on every rank; the others' `local` is ignored.
  std::string broadcast_bytes(std::string_view local, int root, std::string_view name);
  /// Returns when all ranks have called it.
  void barrier(std::string_view name) { all_gather_bytes({}, name); }

 protected:
  explicit Communicator(Membership membership);
  /// Implement the collectives above for contiguous tensors. `all` holds one part per rank, in rank order.
  virtual void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) = 0;
  virtual void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) = 0;
  virtual void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) = 0;
  virtual void reduce_scatter_dense(const at::Tensor& all, at::Tensor& local, std::string_view name) = 0;
  virtual void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name);
  /// Like exchange(), but ignores out[rank()] and in[rank()]; every tensor is defined.
  virtual void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                              std::string_view name) = 0;
  /// Calls `collective` asynchronously; several run in the order in which they were started.
  virtual std::unique_ptr<Pending> start(std::function<void()> collective) = 0;

  /// Returns this process's rank in the job and its step.
  Whereabouts place() const;
  /// Returns the value of count_times().
  int64_t times() const { return times_; }
  /// Returns this process's membership in a communicator made by split() with these arguments.
  Membership membership_in(const std::vector<int>& members, const std::string& group) const;

 private:
  Membership membership_;
  int64_t times_ = 1;
};

}  // namespace roll
