// What trainings that learn from rows share, whosever keys they have: `roll sft` and `roll dpo`.
#pragma once

#include "convert/table.h"

namespace roll {

struct LearntBatches {
  const char* role;                 // of ours: "sft_train"
  int64_t batch = 1;                // rows of an update, over all ranks
  const char* batch_key;            // of theirs
  std::string origin;               // of that number
  int64_t micro = 1;                // rows of a forward and backward of a rank
  const char* steps;                // their key of updates, which wins; nullptr: they have none
  const char* epochs;               // their key of passes over the rows
  const char* epochs_default = "";  // where their row has none
  int64_t model_ranks = 1;          // ranks that share a copy of the model
};

/// Batch, length and devices. Where nobody says how many GPUs there are, devices are left to -n of the run. False: the
/// layout must be left out, too, as it would not fit one GPU.
bool set_row_training(Conversion& conversion, const LearntBatches& training, std::optional<int64_t> num_ranks);
/// The number that `num_processes` says, which the launcher of a script adds, or -n; nullopt: nobody says it.
std::optional<int64_t> processes_of(const Conversion& conversion);
/// What must be set by hand is told; the validation has the training's columns, and goes where it has no rows.
void set_learnt_rows(Conversion& conversion, const std::string& role);
/// "[0.9,0.999]" or "0.9 0.999".
void set_betas(Conversion& conversion, const std::string& role, const char* key);

}  // namespace roll
