// Collectives among a group of ranks (processes with a device each), as an MPI communicator or a torch.distributed
// process group has them. Every public member but rank(), size() and the like is **Collective**: all ranks call it in
// the same order with the same shape, dtype and name. Goals: a rank that calls something else, waits too long or
// dies becomes an error that names rank, collective and step; sums do not depend on timing (host back-ends add in
// rank order, and every rank holds the same bits). Collectives whose names begin with start_ run beside other work.
//   single  one process                       mpi   started by mpirun or srun, through host memory
//   tcp     torchrun-style variables, sockets  nccl  CUDA tensors over NCCL, everything else over mpi or tcp
//   threads of one process, for what is to be known of many ranks (thread_ranks.h)
// CUDA tensors travel through host memory where several ranks share a GPU, which NCCL cannot serve.
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

/// bfloat16 and float16, whose sums are made in float32 and rounded once.
bool is_narrow(at::ScalarType dtype);

/// Where a wait stands, for error texts: "rank 1 of 4, step 12".
struct Whereabouts {
  int rank = 0;
  int size = 1;
  int64_t step = -1;  // -1: before the first step
};
std::string to_string(const Whereabouts& place);

/// A collective on its way.
class Pending {
 public:
  virtual ~Pending() = default;
  /// Returns when the result may be used (CUDA: by kernels enqueued from now on). Errors as the collective's own.
  virtual void wait() = 0;
  /// Whether wait() would return, or throw, at once.
  virtual bool is_done() = 0;
  /// When it ran (monotonic_s()); after wait(). NCCL: from its start to wait().
  double begin_s() const { return begin_s_; }
  double end_s() const { return end_s_; }

 protected:
  double begin_s_ = 0, end_s_ = 0;
};

/// Where a communicator stands: its own ranks, and this process among all.
struct Membership {
  int rank = 0;
  int size = 1;
  Whereabouts world{};                    // step unused
  std::string group = "world";            // for errors and counts
  std::shared_ptr<Traffic> traffic = {};  // shared by all communicators of the process
};

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return own_.rank; }
  int size() const { return own_.size; }
  bool is_first() const { return own_.rank == 0; }
  /// False for `single`, whose collectives give back what they are given: they may be left out.
  bool communicates() const { return kind() != "single"; }
  virtual std::string_view kind() const = 0;
  const std::string& group() const { return own_.group; }
  /// Counts of what is sent; holds the step that error texts name.
  Traffic& traffic() { return *own_.traffic; }
  void set_step(int64_t step) { own_.traffic->set_step(step); }
  /// For communicators that only count (forecast/planned_ranks.h): each collective from now on counts as `times` equal
  /// ones.
  void count_times(int64_t times) { times_ = times; }

  /// A communicator among `members` (ascending ranks of this one, this rank among them) whose messages never mix with
  /// those of this one. Every rank of this communicator calls it, each with the members of its own group, as often and
  /// in the same order; a group of one is `single`, unless this one is a group of one itself. `group` names it in
  /// errors and counts ("tp").
  virtual std::unique_ptr<Communicator> split(const std::vector<int>& members, const std::string& group) = 0;

  /// Element-wise over ranks, in place, any shape. float32, float64, int64, and narrow floats (is_narrow).
  /// `name` says what is reduced, for errors. UserError never; SystemError: a rank is late or gone; Bug: ranks differ.
  void all_reduce_sum(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kSum, name); }
  void all_reduce_max(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMax, name); }
  void all_reduce_min(at::Tensor& tensor, std::string_view name) { all_reduce(tensor, Reduce::kMin, name); }
  void all_reduce(at::Tensor& tensor, Reduce op, std::string_view name);
  /// One number; exact order of addition as above.
  double all_reduce(double value, Reduce op, std::string_view name);
  int64_t all_reduce(int64_t value, Reduce op, std::string_view name);
  double all_reduce_sum(double value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  double all_reduce_max(double value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_sum(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kSum, name); }
  int64_t all_reduce_max(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMax, name); }
  int64_t all_reduce_min(int64_t value, std::string_view name) { return all_reduce(value, Reduce::kMin, name); }

  /// Every rank's tensor becomes root's. Any shape and dtype.
  void broadcast(at::Tensor& tensor, int root, std::string_view name);
  /// The tensors of all ranks, in rank order; equal shapes and dtypes.
  std::vector<at::Tensor> all_gather(const at::Tensor& tensor, std::string_view name);
  /// All ranks' tensors in one along dimension 0: [n, ...] of each rank -> [size * n, ...].
  at::Tensor all_gather_rows(const at::Tensor& tensor, std::string_view name);
  /// `all` [size * n, ...] is summed over ranks; this rank gets rows [rank * n, (rank + 1) * n). dtypes as all_reduce.
  at::Tensor reduce_scatter_rows(const at::Tensor& all, std::string_view name);

  /// Sums over ranks of dense tensors, beside other work: until wait() the tensors must neither be touched nor go away,
  /// and only start_ functions of this communicator may be called. `mine` is this rank's part of `all`, which it may be
  /// a view of; the rest of `all` is then undefined.
  std::unique_ptr<Pending> start_reduce_scatter(const at::Tensor& all, const at::Tensor& mine, std::string_view name);
  std::unique_ptr<Pending> start_all_reduce(const at::Tensor& tensor, std::string_view name);
  /// The root's tensor, which stays as it is, to the others, which may call broadcast().
  std::unique_ptr<Pending> start_broadcast(const at::Tensor& tensor, int root, std::string_view name);
  /// Every rank's `mine` into `all` [size * n]; `mine` may be this rank's part of `all`.
  std::unique_ptr<Pending> start_all_gather(const at::Tensor& mine, const at::Tensor& all, std::string_view name);
  /// All-to-all of equal blocks: block r of `out` [size * n] becomes block rank() of rank r's `in`. Of all NCCL's
  /// exchanges the one in which no host takes part.
  std::unique_ptr<Pending> start_all_to_all(const at::Tensor& out, const at::Tensor& in, std::string_view name);
  /// All-to-all: `out[r]` goes to rank r and becomes its `in[rank()]`, this rank's own among them. Contiguous tensors
  /// on one device, of any dtype; where both sides have nothing for each other (undefined or empty), no message is
  /// sent. Bug: a rank sends another size than the other one expects.
  void exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in, std::string_view name);
  /// As exchange(), beside other work.
  std::unique_ptr<Pending> start_exchange(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                                          std::string_view name);
  /// The byte strings of all ranks, in rank order; lengths may differ.
  virtual std::vector<std::string> all_gather_bytes(std::string_view mine, std::string_view name) = 0;
  /// The byte strings of all ranks on the first rank; an empty list elsewhere.
  virtual std::vector<std::string> gather_bytes(std::string_view mine, std::string_view name) = 0;
  /// As all_gather_bytes(), beside other work, into `all`. For news now and then, not for what somebody waits for: it
  /// looks for the others' bytes every half a millisecond.
  virtual std::unique_ptr<Pending> start_all_gather_bytes(std::string mine,
                                                          std::shared_ptr<std::vector<std::string>> all,
                                                          std::string_view name) = 0;
  /// Root's bytes on every rank.
  std::string broadcast_bytes(std::string_view mine, int root, std::string_view name);
  void barrier(std::string_view name) { all_gather_bytes({}, name); }

 protected:
  explicit Communicator(Membership own);
  /// The collectives above on dense contiguous tensors; `all` has size() times the elements of the other one, rank
  /// after rank.
  virtual void reduce_dense(at::Tensor& tensor, Reduce op, std::string_view name) = 0;
  virtual void broadcast_dense(at::Tensor& tensor, int root, std::string_view name) = 0;
  virtual void gather_dense(const at::Tensor& tensor, at::Tensor& all, std::string_view name) = 0;
  virtual void reduce_scatter_dense(const at::Tensor& all, at::Tensor& mine, std::string_view name) = 0;
  virtual void all_to_all_dense(const at::Tensor& out, at::Tensor& in, std::string_view name);
  /// exchange() without this rank's own part; every tensor is defined.
  virtual void exchange_dense(const std::vector<at::Tensor>& out, const std::vector<at::Tensor>& in,
                              std::string_view name) = 0;
  /// Runs a collective of the kinds above beside other work; several run in the order of their calls.
  virtual std::unique_ptr<Pending> start(std::function<void()> collective) = 0;

  /// This process among all, at the current step.
  Whereabouts place() const;
  int64_t times() const { return times_; }
  /// What a process is in a group that it splits off.
  Membership membership_in(const std::vector<int>& members, const std::string& group) const;

 private:
  Membership own_;
  int64_t times_ = 1;
};

}  // namespace roll
