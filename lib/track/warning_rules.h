// Rules that warn of common failures of policy training, evaluated on the metrics history.
#pragma once

#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

/// A rule that detects one problem.
struct WarningRule {
  const char* name;
  const char* remedy;  // names the key to change
  /// Returns the problem at the newest step, with numbers; "" if there is none.
  std::string (*finding)(const MetricHistory& history);
};

/// Returns all rules.
const std::vector<WarningRule>& warning_rules();

/// A raised warning: its first step and its text.
struct Warning {
  int64_t step = 0;
  std::string rule;
  std::string text;  // "entropy collapses: ...; raise ..."
};

/// Raises each warning once, and again only if it was gone in between. Depends on the history alone, so a resumed run
/// repeats nothing.
class WarningWatch {
 public:
  /// Call after each step, in order. Returns the new warnings.
  std::vector<Warning> observe(const MetricHistory& history);
  /// Returns all warnings raised so far, oldest first.
  const std::vector<Warning>& raised() const { return raised_; }
  /// Returns true if the warning's rule applied at the newest step or within the last 10 steps.
  bool is_active(const Warning& warning) const;

 private:
  int64_t step_ = -1;
  std::vector<Warning> raised_;
  std::map<std::string, int64_t> last_active_step_;  // step, by rule
};

}  // namespace roll
