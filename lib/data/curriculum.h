// Curriculum: row sampling by pass rate, and domain shares that change over steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/config.h"

namespace roll {

/// Sampling rule and scheduled shares.
struct Curriculum {
  DataSampler sampler = DataSampler::kShuffled;
  double floor = 0.1;                       // sampler_floor
  std::vector<ScheduledShares> schedule{};  // ascending
};
Curriculum make_curriculum(const DataArgs& data);

/// Returns the shares of a step. They start with `first` at step 1, are interpolated linearly between schedule entries,
/// and stay constant after the last. Unnamed domains have share 0. The result sums to 1 if all inputs do.
std::map<std::string, double> shares_at(const std::map<std::string, double>& first,
                                        const std::vector<ScheduledShares>& schedule, int64_t step);

/// Pass rate of the latest responses to each row of a domain, stored as one character per row: '#' (0) to '[' (1) in 56
/// steps, and '~' if unknown.
class PassRates {
 public:
  PassRates() = default;
  explicit PassRates(int64_t num_rows) : codes_(static_cast<size_t>(num_rows), '~') {}
  /// Restores text(). False: it does not fit the number of rows, or has invalid characters.
  bool load(const std::string& text);
  const std::string& text() const { return codes_; }

  /// Sets the pass rate; `rate` is clamped to 0..1.
  void set(int64_t row, double rate);
  /// Returns the sampling weight 4 p (1 - p), at least `floor`; 1 if unknown, as for p = 0.5.
  double weight(int64_t row, double floor) const;

 private:
  std::string codes_;
};

}  // namespace roll
