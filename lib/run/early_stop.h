// Decides whether a run ends early: when the metric metric_for_best_model has not improved in early_stopping_patience
// measurements in a row. Counts like transformers' EarlyStoppingCallback and uses its names. Used by Run (run.h).
#pragma once

#include <cstdint>
#include <optional>

#include "base/json.h"
#include "settings/checkpoint_config.h"

namespace roll {

class EarlyStop {
 public:
  explicit EarlyStop(const CheckpointConfig& config)
      : patience_(config.early_stopping_patience),
        threshold_(config.early_stopping_threshold),
        greater_is_better_(config.greater_is_better) {}

  /// Adds a new measurement of the metric, a finite number.
  void observe(double value);
  /// Returns true if the run has to end; never with early_stopping_patience 0.
  bool is_over() const { return patience_ > 0 && waited_ >= patience_; }
  /// Returns the best value so far; nullopt before the first.
  std::optional<double> best() const { return best_; }
  /// Returns the number of measurements since the last that was better by more than early_stopping_threshold.
  int64_t waited() const { return waited_; }

  /// Returns the state, for a checkpoint.
  Json state() const;
  /// Sets the state to one that state() returned. Ignores JSON of another form, such as an older checkpoint's.
  void load(const Json& state);

 private:
  int64_t patience_;
  double threshold_;
  bool greater_is_better_;
  std::optional<double> best_;  // includes improvements too small to count
  int64_t waited_ = 0;
};

}  // namespace roll
