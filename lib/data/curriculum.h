// Curriculum of training rows, for PromptStream (data/prompt_stream.h): rows are skipped by pass rate (the share of
// right responses), and the shares of domains change over steps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/config.h"

namespace roll {

/// Keys of data_args that make the curriculum.
struct Curriculum {
  DataSampler sampler = DataSampler::kShuffled;
  double floor = 0.1;                       // sampler_floor: least weight of a row, see PassRates::weight()
  std::vector<ScheduledShares> schedule{};  // domain_interleave_schedule, by ascending step; empty: constant shares
};
/// Takes the curriculum from the configuration.
Curriculum make_curriculum(const DataArgs& data);

/// Returns the domain shares of `step` (from 1). They are `first` at step 1, are interpolated linearly between the
/// entries of `schedule`, and stay constant after the last. A domain that an entry does not name has share 0 there. The
/// result sums to 1 if all inputs do.
std::map<std::string, double> shares_at(const std::map<std::string, double>& first,
                                        const std::vector<ScheduledShares>& schedule, int64_t step);

/// Holds, for each row of a domain, the pass rate of the latest group of responses to it.
class PassRates {
 public:
  PassRates() = default;
  /// All pass rates begin as unknown.
  explicit PassRates(int64_t num_rows) : codes_(static_cast<size_t>(num_rows), '~') {}
  /// Restores a text(). Returns false, and changes nothing, if its length is not the number of rows or a character is
  /// not allowed.
  bool load(const std::string& text);
  /// Returns the state for a checkpoint: one character per row, '#' (pass rate 0) to '[' (1) in 56 steps, '~' if
  /// unknown.
  const std::string& text() const { return codes_; }

  /// Sets the pass rate of a row (index in the domain); `rate` is clamped to 0..1 and rounded to a multiple of 1/56.
  void set(int64_t row, double rate);
  /// Returns the probability that the row is not skipped: 4 p (1 - p) for its pass rate p, at least `floor`; 1 if p is
  /// unknown.
  double weight(int64_t row, double floor) const;

 private:
  std::string codes_;
};

}  // namespace roll
