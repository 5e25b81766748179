// Sums the gradients of an update over its micro-batches and the ranks. Autograd adds each gradient to the
// flat buffer, and a hook starts the reduction of a bucket while backward still runs, when its last gradient has come.
// Every rank starts the buckets' reductions in the same order.
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
  /// Adds up what `optimizer` holds over `ranks`: each rank gets its slice (`scatters`), or all get all. Both must
  /// outlive this. Puts a hook on each parameter that requires gradients.
  GradientReducer(FlatAdamW& optimizer, const NamedTensors& parameters, Communicator& ranks, bool scatters);
  ~GradientReducer();

  /// Call before the last backward of an update: its gradients complete the sums.
  void expect_last();
  /// Call after the last backward: starts the reductions that are left, after `sum_copies` of buckets with copies, and
  /// waits for all of them. **Collective**.
  void finish(const std::function<void(const Bucket& bucket, int64_t index)>& sum_copies);

  /// The buckets of the last update, in the order in which their reductions started.
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
  // Then nothing is sent before backward has ended: between collectives of layers, ranks would disagree on the order.
  bool gathers_ = false;
  bool is_last_ = false;
  size_t next_ = 0;               // in the layout's reduce_order
  std::vector<int64_t> missing_;  // gradients that each bucket waits for
  std::vector<std::unique_ptr<Pending>> sent_;
  std::vector<BucketTrace> trace_;
};

}  // namespace roll
