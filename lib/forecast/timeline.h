// Timeline of a simulated step, for simulation.h: the phases of each class of ranks with their times, and the classes'
// idle time. A class is the ranks with the same roles and pipeline stages (rank_classes() in settings/placement.h).
// Phases that all ranks wait for start together. Roles on different ranks overlap, and so does sampling for the next
// step (async_generation_ratio).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace roll {

/// Work of a class of ranks.
struct ClassWork {
  std::string ranks, roles;               // for display: "0-7", "actor_train, reference"
  double memory_bytes = 0;                // memory of one rank
  std::map<std::string, double> seconds;  // phase ("train_actor") -> seconds of the slowest rank
};

/// A phase of a class, or a part of one. Times are seconds from the beginning of the step.
struct Stretch {
  std::string phase;
  double begin_s = 0, end_s = 0;
};

/// Work of a class, laid out in time.
struct ClassTimeline {
  ClassWork work;
  std::vector<Stretch> stretches;  // in order of time
  /// Returns the sum of the stretches' seconds.
  double busy_s() const;
};

struct Timeline {
  double seconds = 0;  // length of the step
  std::vector<ClassTimeline> classes;
};

/// Lays out the phases of a step. `ahead_share`: share of sampling that runs during the training of the step before, 0
/// to 1.
Timeline build_timeline(std::vector<ClassWork> classes, double ahead_share);

/// Returns a legend line, then a line per class: ranks, memory in GB, a bar of `width` letters, idle share, and roles.
/// Each letter is the main phase of a time slice.
std::string to_text(const Timeline& timeline, int width = 60);

}  // namespace roll
