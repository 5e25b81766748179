// Timeline of a simulated step: the phases of each class of ranks (ranks with the same roles) with their times, and the
// classes' idle time. Phases that all ranks wait for start together; roles on different ranks overlap, and so does
// sampling for the next step (async_generation_ratio).
#pragma once

#include <map>
#include <string>
#include <vector>

namespace roll {

/// Work of a class of ranks.
struct ClassWork {
  std::string ranks, roles;               // for display: "0-7", "actor_train, reference"
  double memory_bytes = 0;                // memory of one rank
  std::map<std::string, double> seconds;  // by phase ("train_actor"): time of the slowest rank
};

/// A phase of a class, in seconds from the beginning of the step.
struct Stretch {
  std::string phase;
  double begin_s = 0, end_s = 0;
};

struct ClassTimeline {
  ClassWork work;
  std::vector<Stretch> stretches;  // in order of time
  /// Returns the seconds in all stretches.
  double busy_s() const;
};

struct Timeline {
  double seconds = 0;  // time of the step
  std::vector<ClassTimeline> classes;
};

/// Lays out the phases of a step. `ahead_share`: share of sampling that runs during the training of the step before, 0
/// to 1.
Timeline build_timeline(std::vector<ClassWork> classes, double ahead_share);

/// Returns a legend line, then a line per class: ranks, memory, a bar of `width` letters for the main phase of each
/// time slice, idle share, and roles.
std::string to_text(const Timeline& timeline, int width = 60);

}  // namespace roll
