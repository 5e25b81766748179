// Chooses the rows of each update in training on fixed rows (row_training.h): one new shuffle per pass.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

class EpochOrder {
 public:
  EpochOrder(int64_t num_rows, int64_t rows_per_update, int64_t seed)
      : num_rows_(num_rows), rows_per_update_(rows_per_update), seed_(seed) {}

  /// Returns the rows of update 1, 2, ...: position p of the endless stream is entry p % rows of the shuffle of epoch p
  /// / rows.
  std::vector<int64_t> update_rows(int64_t update);

 private:
  int64_t num_rows_, rows_per_update_, seed_;
  std::vector<int64_t> order_;
  int64_t epoch_ = -1;
};

}  // namespace roll
