// Timeline of a step: what each class of ranks does when, and its idle time. Phases that all ranks wait for start
// together; roles on different ranks overlap, and so does sampling ahead.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace roll {

/// Work of ranks that hold the same roles.
struct ClassWork {
  std::string ranks, roles;  // in words
  double memory_bytes = 0;
  std::map<std::string, double> seconds;  // by phase, of the slowest rank
};

struct Stretch {
  std::string phase;
  double begin_s = 0, end_s = 0;
};

struct ClassTimeline {
  ClassWork work;
  std::vector<Stretch> stretches;  // in order of time
  double busy_s() const;
};

struct Timeline {
  double seconds = 0;
  std::vector<ClassTimeline> classes;
};

/// Lays out the phases of a step. `ahead_share`: share of sampling done while the step before trains, 0 to 1.
Timeline build_timeline(std::vector<ClassWork> classes, double ahead_share);

/// Returns a line per class: ranks, memory, a bar of `width` letters for the main phase of each time slice, idle share,
/// and roles.
std::string to_text(const Timeline& timeline, int width = 60);

}  // namespace roll
