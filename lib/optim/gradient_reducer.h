// Sums an update's gradients over its micro-batches and the ranks. Autograd adds each gradient to the flat buffer. A
// hook starts a bucket's reduction, while backward still runs, once its last gradient is there. Every rank starts these
// reductions in the same order.
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
  /// Sums the gradients of `optimizer` over `ranks`: each rank gets its slice (`scatters`), or all get everything. Both
  /// must outlive this. Puts a hook on each parameter that requires gradients.
  GradientReducer(FlatAdamW& optimizer, const NamedTensors& parameters, Communicator& ranks, bool scatters);
  ~GradientReducer();

  /// Call before the last backward of an update: its gradients complete the sums.
  void expect_last();
  /// Call after the last backward: starts the remaining reductions, after `sum_copies` for buckets with copies, and
  /// waits for all. **Collective**.
  void finish(const std::function<void(const Bucket& bucket, int64_t index)>& sum_copies);

  /// Returns the last update's buckets, in the order in which their reductions started.
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
