// Checkpoint keys of all pipelines: when to save, which checkpoints to keep, early stopping and resume.
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
    v("save_steps", save_steps, "a checkpoint every so many steps; 0 or -1: only at the end", at_least(-1),
      may_change());
    v("max_ckpt_to_keep", max_ckpt_to_keep, "newest checkpoints kept; 0: all", at_least(0), may_change());
    v("best_ckpt_to_keep", best_ckpt_to_keep,
      "checkpoints kept beside them, the best by metric_for_best_model; a new best is saved at once", at_least(0),
      may_change());
    v("metric_for_best_model", metric_for_best_model, "the metric that tells which checkpoints are best", may_change());
    v("greater_is_better", greater_is_better, "false: the smallest metric_for_best_model is the best", may_change());
    v("early_stopping_patience", early_stopping_patience,
      "the run ends early, with a checkpoint, once metric_for_best_model was measured so many times in a row without "
      "improving on its best; 0: never",
      at_least(0), may_change());
    v("early_stopping_threshold", early_stopping_threshold,
      "early_stopping_patience counts an improvement only where it is larger than this", within(0, 1'000'000),
      may_change());
    v("resume_from_checkpoint", resume_from_checkpoint,
      "true: go on with the run in output_dir, where there is one; or a checkpoint's folder", bool_or_text(),
      may_change());
  }
};

}  // namespace roll
