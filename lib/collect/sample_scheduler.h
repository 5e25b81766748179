// Assigns samples to the rank groups that sample, for RolloutCoordinator. A sample is one response to one prompt. A
// group is the set of ranks that hold one copy of the model. Every rank has its own scheduler, makes the same calls and
// so computes the same assignment: no communication is needed. All samples of a prompt go to one group, because they
// share the prompt's KV pages. Two kinds of samples are assigned one by one instead: those of the last (number of
// prompts modulo number of groups) prompts, and those that a group returns because another is idle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "records/sample_index.h"

namespace roll {

/// For each group, the samples that it starts, in order.
using SampleAssignment = std::vector<std::vector<SampleIndex>>;

class SampleScheduler {
 public:
  /// `num_groups`: groups that sample. `num_samples`: samples of each prompt.
  SampleScheduler(int64_t num_groups, int64_t num_samples) : num_groups_(num_groups), num_samples_(num_samples) {}

  /// Adds all samples of a prompt. `prompt`: index chosen by the caller. `expected_length`: tokens of a response;
  /// prompts with longer responses start earlier, those of unknown length (nullopt) first. `is_ahead`: the prompt
  /// starts after all prompts without this flag.
  void add(int64_t prompt, std::optional<double> expected_length, bool is_ahead = false);
  /// Adds a sample that a group was assigned but has not started.
  void put_back(SampleIndex sample) { samples_.push_back(sample); }
  /// Removes a prompt's samples that are not assigned yet.
  void drop(int64_t prompt);

  /// Assigns all samples added since the last call, each time to the group with the shortest queue. `queues`, by group:
  /// the number of samples that wait for a slot or, if none waits, minus the number of free slots; increased by the
  /// samples assigned here.
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

/// Returns how many of its waiting samples `group` gives up: its waiting samples x the share of groups that have free
/// slots and no waiting samples, rounded up. `queues`: as for assign().
int64_t num_to_put_back(std::span<const int64_t> queues, int64_t group);

}  // namespace roll
