// A step as time: what each class of ranks does when, and how long it does nothing. Phases that all wait for begin
// together; roles that live apart work at the same time, and so does sampling that runs ahead.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace roll {

/// Ranks on which the same roles live.
struct ClassWork {
  std::string ranks, roles;  // in words
  double memory_bytes = 0;
  std::map<std::string, double> seconds;  // by phase, of the rank that takes longest
};

struct Stretch {
  std::string phase;
  double begin_s = 0, end_s = 0;
};

struct ClassTimeline {
  ClassWork work;
  std::vector<Stretch> stretches;  // one after the other
  double busy_s() const;
};

struct Timeline {
  double seconds = 0;
  std::vector<ClassTimeline> classes;
};

/// `ahead`: the share of a step's sampling that is done while the step before is trained on, 0 to 1.
Timeline timeline_of(std::vector<ClassWork> classes, double ahead);

/// A line for each class: its ranks, memory, a letter for what most of each of `width` pieces of the step goes to, the
/// share of the step in which it has nothing to do, and its roles.
std::string to_text(const Timeline& timeline, int width = 60);

}  // namespace roll
