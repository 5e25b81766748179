// Times of an update's computation and communication on one rank, which show how much of the gradients' reduction
// overlaps with backward. Learner fills them. Times are seconds of monotonic_s() (base/clock.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace roll {

/// The reduction of one bucket of gradients (flat_layout.h) in an update.
struct BucketTrace {
  int64_t bucket = 0;             // index in FlatLayout::buckets
  int64_t bytes = 0;              // size of the gradient
  double ready_s = 0;             // when the bucket's last gradient was complete on this rank
  double begin_s = 0, end_s = 0;  // start and end of its collective
  template <class F>
  void fields(F& field) {
    field("bucket", bucket), field("bytes", bytes), field("ready_s", ready_s);
    field("begin_s", begin_s), field("end_s", end_s);
  }
};

/// Times of one update.
struct UpdateTrace {
  double begin_s = 0;       // start of the update
  double last_begin_s = 0;  // start of the last micro-batch's backward, during which reductions start
  double last_end_s = 0;    // end of that backward
  double reduced_s = 0;     // when all gradients are summed over ranks
  double end_s = 0;         // when parameters are updated and gathered
  std::vector<BucketTrace> buckets{};
  template <class F>
  void fields(F& field) {
    field("begin_s", begin_s), field("last_begin_s", last_begin_s), field("last_end_s", last_end_s);
    field("reduced_s", reduced_s), field("end_s", end_s), field("buckets", buckets);
  }

  /// Returns the sum of the durations of all reductions, in seconds.
  double reduce_s() const;
  /// Returns the part of reduce_s() before last_end_s, which overlaps with backward.
  double hidden_s() const;
};

/// Returns updates as a Chrome trace (chrome://tracing, Perfetto): each update is a process of its name with threads
/// for computation and communication; times are microseconds since the first update began.
Json chrome_trace(const std::vector<std::pair<std::string, UpdateTrace>>& updates);

}  // namespace roll
