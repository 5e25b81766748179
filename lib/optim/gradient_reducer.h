// Sums an update's gradients over its micro-batches and the ranks, for Learner. Autograd adds each micro-batch's
// gradients to the flat buffers of FlatOptimizer (optimizer.h). In the last backward, a hook on each parameter starts
// the reduction of a bucket (flat_layout.h) over the ranks once its last gradient is there, while backward still runs.
// Every rank starts these reductions in the same order.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dist/communicator.h"
#include "optim/optimizer.h"
#include "optim/update_trace.h"

namespace roll {

class GradientReducer {
 public:
  /// parameters: those of `optimizer`, in its order; each gets a hook, which the destructor removes. ranks: the ranks
  /// over which gradients are summed. scatters: true for a reduce-scatter, after which each rank has the sums of its
  /// slice; false for an all-reduce. waits: nothing is sent before finish(), because another reducer sends to the same
  /// ranks. `optimizer` and `ranks` must outlive this object.
  GradientReducer(FlatOptimizer& optimizer, const NamedTensors& parameters, Communicator& ranks, bool scatters,
                  bool waits = false);
  ~GradientReducer();

  /// Must be called before the last backward of an update; the hooks then start reductions.
  void expect_last();
  /// Must be called after the last backward: starts the remaining reductions and waits for all. Calls
  /// sum_copies(bucket, its index in the layout) before it reduces a bucket with copies > 1; the callback must sum the
  /// bucket's gradients over the tensor-parallel ranks with copies. Throws Bug if expect_last() was not called since
  /// the last finish(). **Collective** over `ranks`.
  void finish(const std::function<void(const Bucket& bucket, int64_t index)>& sum_copies);

  /// Returns the times of the last update's reductions, in the order of their starts.
  const std::vector<BucketTrace>& buckets() const { return trace_; }

 private:
  struct Hook;
  void on_gradient(int64_t parameter);
  void send_ready();
  void send(int64_t bucket);

  FlatOptimizer& optimizer_;
  NamedTensors parameters_;
  Communicator& ranks_;
  bool scatters_;
  // True if nothing is sent before backward ends, because ranks would disagree on the order of collectives: layers are
  // gathered (gathered_layers.h), or another reducer sends to the same ranks.
  bool waits_;
  bool is_last_ = false;
  size_t next_ = 0;               // index into the layout's reduce_order
  std::vector<int64_t> missing_;  // by bucket: gradients that it waits for
  std::vector<std::unique_ptr<Pending>> sent_;
  std::vector<BucketTrace> trace_;
};

}  // namespace roll
