// Sums the gradients of an update over its micro-batches and the ranks: each is added as soon as backward is through
// with its parameter, and a bucket leaves, while backward still runs, when the last of its gradients is there. Every
// rank sends the buckets in the same order.
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

  /// The backward that follows is the update's last: its gradients are final.
  void expect_last();
  /// All gradients are there: sends what has not left, after `sum_copies` for buckets with copies, and waits until all
  /// sums are there. **Collective**.
  void finish(const std::function<void(const Bucket& bucket, int64_t index)>& sum_copies);

  /// Of the last update, in the order of sending.
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
  bool is_last_ = false;
  size_t next_ = 0;               // in the layout's reduce_order
  std::vector<int64_t> missing_;  // gradients that each bucket waits for
  std::vector<std::unique_ptr<Pending>> sent_;
  std::vector<BucketTrace> trace_;
};

}  // namespace roll
