// Chooses the rows of each update in training on fixed rows (row_training.h): a new shuffle for each pass over the
// rows.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

class EpochOrder {
 public:
  /// num_rows, rows_per_update: over all ranks. The order depends on the arguments alone.
  EpochOrder(int64_t num_rows, int64_t rows_per_update, int64_t seed)
      : num_rows_(num_rows), rows_per_update_(rows_per_update), seed_(seed) {}

  /// Returns the rows_per_update row indices of update 1, 2, ...; updates may be asked for in any order. The updates
  /// cut an endless stream of rows, whose entry p is entry p % num_rows of the shuffle of epoch p / num_rows, so that
  /// an update can have rows of two epochs.
  std::vector<int64_t> update_rows(int64_t update);

 private:
  int64_t num_rows_, rows_per_update_, seed_;
  std::vector<int64_t> order_;
  int64_t epoch_ = -1;
};

}  // namespace roll
