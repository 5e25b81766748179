// Decides which rank group samples what, for RolloutCoordinator. All ranks compute the same assignment from the same
// news, so nobody asks and nothing is sampled twice. Prompts are assigned whole, because their responses share the
// prompt's pages. If fewer prompts than groups are left, their responses are assigned one by one, and so are those that
// a group puts back because another is idle. A response does not depend on who samples it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/sample_index.h"

namespace roll {

/// Samples that each group starts, in this order.
using SampleAssignment = std::vector<std::vector<SampleIndex>>;

class SampleScheduler {
 public:
  /// `num_samples`: per prompt.
  SampleScheduler(int64_t num_groups, int64_t num_samples) : num_groups_(num_groups), num_samples_(num_samples) {}

  /// Adds a prompt. `expected_length`: the longest start first, and before them prompts of unknown length, which may be
  /// longer. `is_ahead`: starts after all prompts that are not ahead.
  void add(int64_t prompt, std::optional<double> expected_length, bool is_ahead = false);
  void put_back(SampleIndex sample) { samples_.push_back(sample); }
  /// Removes a prompt's samples that are not assigned yet.
  void drop(int64_t prompt);

  /// Assigns everything to the shortest queues. `queues`: by group, the number of waiting samples, or minus the free
  /// slots if none waits; raised by the assigned samples.
  SampleAssignment assign(std::vector<int64_t>& queues);

 private:
  struct Waiting {
    int64_t prompt = 0;
    std::optional<double> expected_length;
    bool is_ahead = false;
  };

  int64_t num_groups_, num_samples_;
  std::vector<Waiting> prompts_;
  std::vector<SampleIndex> samples_;
};

/// Returns how many waiting samples a group puts back: as many as even out the queues if another group has free slots
/// and no waiting samples.
int64_t num_to_put_back(std::span<const int64_t> queues, int64_t group);

}  // namespace roll
