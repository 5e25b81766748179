// Ends a run early when its metric has not improved in early_stopping_patience measurements in a row. Counts like
// transformers' EarlyStoppingCallback and uses its names.
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

  void observe(double value);
  bool is_over() const { return patience_ > 0 && waited_ >= patience_; }
  std::optional<double> best() const { return best_; }
  int64_t waited() const { return waited_; }

  /// Saves the state for checkpoints. load() ignores JSON of another form.
  Json state() const;
  void load(const Json& state);

 private:
  int64_t patience_;
  double threshold_;
  bool greater_is_better_;
  std::optional<double> best_;  // includes improvements too small to count
  int64_t waited_ = 0;
};

}  // namespace roll
