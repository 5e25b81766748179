// Times of an update's computation and communication: how much of the gradients' reduction overlaps with backward.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"

namespace roll {

/// The reduction of one bucket in an update. Times are those of monotonic_s() (base/clock.h).
struct BucketTrace {
  int64_t bucket = 0;
  int64_t bytes = 0;
  double ready_s = 0;             // when its last gradient was complete
  double begin_s = 0, end_s = 0;  // start and end of the collective
  template <class F>
  void fields(F& field) {
    field("bucket", bucket), field("bytes", bytes), field("ready_s", ready_s);
    field("begin_s", begin_s), field("end_s", end_s);
  }
};

struct UpdateTrace {
  double begin_s = 0;
  double last_begin_s = 0;  // backward of the last micro-batch, in which buckets are sent
  double last_end_s = 0;
  double reduced_s = 0;  // all sums are complete
  double end_s = 0;      // parameters are updated and gathered
  std::vector<BucketTrace> buckets{};
  template <class F>
  void fields(F& field) {
    field("begin_s", begin_s), field("last_begin_s", last_begin_s), field("last_end_s", last_end_s);
    field("reduced_s", reduced_s), field("end_s", end_s), field("buckets", buckets);
  }

  /// Return the seconds of all collectives, and those that overlap with backward.
  double reduce_s() const;
  double hidden_s() const;
};

/// Formats named updates as Chrome trace events (chrome://tracing, Perfetto): one process each, with threads for
/// computation and communication, in microseconds since the first begin.
Json chrome_trace(const std::vector<std::pair<std::string, UpdateTrace>>& updates);

}  // namespace roll
