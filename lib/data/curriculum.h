// What decides beside chance which rows come next: how well they were answered, and the domains' shares that change.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/config.h"

namespace roll {

struct Curriculum {
  DataSampler sampler = DataSampler::kShuffled;
  double floor = 0.1;                       // sampler_floor
  std::vector<ScheduledShares> schedule{};  // ascending
};
Curriculum curriculum_of(const DataArgs& data);

/// The shares of a step: `first` in step 1, in a straight line to those of the schedule, behind its last ones these. A
/// domain that is not named has none. They sum to 1 where the given ones do.
std::map<std::string, double> shares_at(const std::map<std::string, double>& first,
                                        const std::vector<ScheduledShares>& schedule, int64_t step);

/// How many of the last responses to each row of a domain were right, as one character a row: '#' for none to '[' for
/// all, in 56 parts, and '~' while nothing is known.
class PassRates {
 public:
  PassRates() = default;
  explicit PassRates(int64_t num_rows) : parts_(static_cast<size_t>(num_rows), '~') {}
  /// Takes what text() gave. False: it is none of so many rows.
  bool load(const std::string& text);
  const std::string& text() const { return parts_; }

  /// `rate`: 0..1; what is beyond counts as that.
  void set(int64_t row, double rate);
  /// How often a row is drawn against one that is right half of the time, or not known: 4 p (1 - p), but at least
  /// `floor`.
  double weight(int64_t row, double floor) const;

 private:
  std::string parts_;
};

}  // namespace roll
