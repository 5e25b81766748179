// Warns of common failures of policy training, by rules on the metrics history. Used by Tracker.
#pragma once

#include <string>
#include <vector>

#include "track/history.h"

namespace roll {

/// A rule that detects one problem.
struct WarningRule {
  const char* name;    // "entropy_collapse"
  const char* remedy;  // end of the warning, which names the configuration key to change
  /// Returns the problem at the newest step, with numbers; "" if the rule finds no problem.
  std::string (*finding)(const MetricHistory& history);
};

/// Returns all rules.
const std::vector<WarningRule>& warning_rules();

/// A raised warning.
struct Warning {
  int64_t step = 0;  // step at which it was raised
  std::string rule;  // WarningRule::name
  std::string text;  // finding and remedy: "entropy collapses: ...; raise ..."
};

/// Raises a rule's warning when the rule first finds a problem, and again only if it found none for more than 10 steps.
/// A resumed run first calls observe() for its earlier steps and ignores the results, so that no warning is shown
/// twice.
class WarningWatch {
 public:
  /// Applies all rules to the history and returns the warnings that its newest step raises. Call it after each step, in
  /// order.
  std::vector<Warning> observe(const MetricHistory& history);
  /// Returns all warnings raised so far, oldest first.
  const std::vector<Warning>& raised() const { return raised_; }
  /// Returns true if the warning's rule has found a problem at the newest step or in the 10 steps before.
  bool is_active(const Warning& warning) const;

 private:
  int64_t step_ = -1;  // the last observed step
  std::vector<Warning> raised_;
  std::map<std::string, int64_t> last_active_step_;  // last step with a problem, by rule
};

}  // namespace roll
