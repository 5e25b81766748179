// Which group of ranks samples what. All ranks deal alike from what they all were told, so nobody is asked and nothing
// is sampled twice. Prompts are assigned whole, for their responses share the prompt's pages; where there are fewer
// than groups left, their responses are assigned one by one, as those are that a group puts back because another has
// nothing to wait for. What a response is does not depend on who samples it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/sample_index.h"

namespace roll {

/// The samples that each group is to start, in this order.
using SampleAssignment = std::vector<std::vector<SampleIndex>>;

class SampleScheduler {
 public:
  /// `num_samples`: of a prompt.
  SampleScheduler(int64_t num_groups, int64_t num_samples) : num_groups_(num_groups), num_samples_(num_samples) {}

  /// A prompt that is to be sampled, and how long its responses are, as far as that is known: the longest start first,
  /// and before them those of which nothing is known, which may be longer. `is_ahead`: behind all that are not.
  void add(int64_t prompt, std::optional<double> expected_length, bool is_ahead = false);
  void put_back(SampleIndex sample) { samples_.push_back(sample); }
  /// Its samples need not be assigned.
  void drop(int64_t prompt);

  /// Deals all there is, to the shortest queues: `queues`, by group, is how many samples wait there, or minus the free
  /// slots where none does; raised by what is assigned.
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

/// How many of its waiting samples a group puts back: as many as make the queues even where another group has free
/// slots and nothing that waits.
int64_t num_to_put_back(std::span<const int64_t> queues, int64_t group);

}  // namespace roll
