// Checkpoint keys of all pipelines: when to save, which checkpoints to keep, early stopping and resume. fields()
// declares each key with a help text and the allowed values (config/keys.h).
#pragma once

#include <cstdint>
#include <string>

#include "config/keys.h"

namespace roll {

struct CheckpointConfig {
  int64_t save_steps = 50;
  int64_t max_ckpt_to_keep = 0;
  int64_t best_ckpt_to_keep = 0;
  std::string metric_for_best_model = "val_correct/all/mean";
  bool greater_is_better = true;
  int64_t early_stopping_patience = 0;
  double early_stopping_threshold = 0;
  std::string resume_from_checkpoint = "false";

  void fields(Keys& v) {
    v("save_steps", save_steps, "steps between checkpoints; 0 or -1: only at the end", at_least(-1), may_change());
    v("max_ckpt_to_keep", max_ckpt_to_keep, "number of newest checkpoints to keep; 0: all", at_least(0), may_change());
    v("best_ckpt_to_keep", best_ckpt_to_keep,
      "number of best checkpoints, by metric_for_best_model, to keep in addition; a new best is saved at once",
      at_least(0), may_change());
    v("metric_for_best_model", metric_for_best_model, "metric that ranks the checkpoints", may_change());
    v("greater_is_better", greater_is_better, "false: the smallest metric_for_best_model is the best", may_change());
    v("early_stopping_patience", early_stopping_patience,
      "the run ends early, with a checkpoint, after so many measurements of metric_for_best_model in a row without a "
      "new best; 0: never",
      at_least(0), may_change());
    v("early_stopping_threshold", early_stopping_threshold,
      "early_stopping_patience counts only improvements larger than this", within(0, 1'000'000), may_change());
    v("resume_from_checkpoint", resume_from_checkpoint,
      "true: resume the run in output_dir, if there is one; or the folder of a checkpoint", bool_or_text(),
      may_change());
  }
};

}  // namespace roll
