// Measures what a decode step costs beside its rows, for the decision how many guesses a step should compute.
#pragma once

#include <cstdint>

namespace roll {

/// Fits step time = row time x (fixed rows + rows) to recent steps. Until the steps differ in size, the estimate stays
/// near that of a processor that streams the weights while it computes about 16 rows.
class StepTimes {
 public:
  /// Adds a step that only decoded.
  void add(int64_t rows, double seconds);
  /// Returns the time of a step without rows, as a number of rows that take the same time; within 0 .. 64.
  double fixed_rows() const;

 private:
  double weight_ = 0, rows_ = 0, seconds_ = 0;  // moving sums
  double rows_squared_ = 0, rows_seconds_ = 0;
};

}  // namespace roll
