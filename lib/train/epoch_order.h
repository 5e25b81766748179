// Chooses the rows of each update of row_training.h. Each epoch, a pass over all rows, has a new shuffle.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

/// Not thread-safe.
class EpochOrder {
 public:
  /// num_rows, rows_per_update: over all ranks. The order depends on the arguments alone.
  EpochOrder(int64_t num_rows, int64_t rows_per_update, int64_t seed)
      : num_rows_(num_rows), rows_per_update_(rows_per_update), seed_(seed) {}

  /// Returns the rows_per_update row indices of an update (from 1), over all ranks. Updates may be asked for in any
  /// order. Update u takes the entries p from (u - 1) * rows_per_update of an endless stream. Entry p is entry p %
  /// num_rows of the shuffle of epoch p / num_rows, so that an update can have rows of two epochs.
  std::vector<int64_t> update_rows(int64_t update);

 private:
  int64_t num_rows_, rows_per_update_, seed_;
  std::vector<int64_t> order_;  // shuffle of epoch_
  int64_t epoch_ = -1;          // -1: no shuffle yet
};

}  // namespace roll
