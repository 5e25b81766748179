// Sums an update's gradients over its micro-batches and the ranks, for Learner. Autograd adds each micro-batch's
// gradients to the flat buffers of FlatAdamW (optimizer.h). In the last backward, a hook on each parameter starts the
// reduction of a bucket (flat_layout.h) over the ranks once its last gradient is there, while backward still runs.
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
  /// parameters: those of `optimizer`, in its order; each gets a hook, which the destructor removes. ranks: those over
  /// which the gradients are summed. scatters: each rank gets the sums of its slice; false: all ranks get all sums.
  /// `optimizer` and `ranks` must outlive this object.
  GradientReducer(FlatAdamW& optimizer, const NamedTensors& parameters, Communicator& ranks, bool scatters);
  ~GradientReducer();

  /// To be called before the last backward of an update, whose gradients complete this rank's sums.
  void expect_last();
  /// To be called after the last backward: starts the remaining reductions and waits for all. sum_copies(bucket, index
  /// in the layout): called before the reduction of a bucket with copies; must sum the gradients of its parameters over
  /// the tensor-parallel ranks that hold copies. Throws Bug without expect_last() before. **Collective** over `ranks`.
  void finish(const std::function<void(const Bucket& bucket, int64_t index)>& sum_copies);

  /// Returns the times of the last update's reductions, in the order of their starts.
  const std::vector<BucketTrace>& buckets() const { return trace_; }

 private:
  struct Hook;
  void on_gradient(int64_t parameter);
  void send_ready();
  void send(int64_t bucket);

  FlatAdamW& optimizer_;
  NamedTensors parameters_;
  Communicator& ranks_;
  bool scatters_;
  // If layers are gathered: nothing is sent before backward ends, since ranks would disagree on the order of
  // collectives.
  bool gathers_ = false;
  bool is_last_ = false;
  size_t next_ = 0;               // index into the layout's reduce_order
  std::vector<int64_t> missing_;  // by bucket: gradients that it waits for
  std::vector<std::unique_ptr<Pending>> sent_;
  std::vector<BucketTrace> trace_;
};

}  // namespace roll
