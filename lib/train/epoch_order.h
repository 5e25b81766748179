// Which rows an update of a training over fixed rows learns from: a new shuffle for each pass.
#pragma once

#include <cstdint>
#include <vector>

namespace roll {

class EpochOrder {
 public:
  EpochOrder(int64_t num_rows, int64_t rows_per_update, int64_t seed)
      : num_rows_(num_rows), rows_per_update_(rows_per_update), seed_(seed) {}

  /// Of update 1, 2, ...: position p of the endless stream is entry p % rows of the shuffle of epoch p / rows.
  std::vector<int64_t> rows_of(int64_t update);

 private:
  int64_t num_rows_, rows_per_update_, seed_;
  std::vector<int64_t> order_;
  int64_t epoch_ = -1;
};

}  // namespace roll
