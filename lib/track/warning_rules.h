// What experienced people look out for while a policy trains: one table of rules over the history of a run's metrics.
#pragma once

#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

struct WarningRule {
  const char* name;
  const char* remedy;  // with the key to turn
  /// What is wrong at the history's newest step, with its numbers; "" where nothing is.
  std::string (*finding)(const MetricHistory& history);
};

const std::vector<WarningRule>& warning_rules();

/// When a warning began, and in which words.
struct Warning {
  int64_t step = 0;
  std::string rule;
  std::string text;  // "entropy collapses: ...; raise ..."
};

/// Says each warning once when it begins, and again only after it had gone away. Follows from the history alone, so a
/// run that goes on says nothing twice.
class Watch {
 public:
  /// After each step, in order. Returns what begins with it.
  std::vector<Warning> observe(const MetricHistory& history);
  /// All that have begun, oldest first.
  const std::vector<Warning>& begun() const { return begun_; }
  /// Whether it still held at the newest step, or shortly before.
  bool holds(const Warning& warning) const;

 private:
  int64_t step_ = -1;
  std::vector<Warning> begun_;
  std::map<std::string, int64_t> last_held_;  // step, by rule
};

}  // namespace roll
