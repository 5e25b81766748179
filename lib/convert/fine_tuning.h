// Conversion of trainings on given rows (`roll sft`, `roll dpo`), shared by all source trainers.
#pragma once

#include "convert/table.h"

namespace roll {

struct LearntBatches {
  const char* role;       // roll's role: "sft_train"
  int64_t batch = 1;      // rows per update, over all ranks
  const char* batch_key;  // source key of the batch
  std::string origin;     // origin of the batch
  int64_t micro = 1;      // rows per micro-batch of a rank
  const char* steps;      // source key of the number of updates, which overrides epochs; nullptr: there is none
  const char* epochs;     // source key of passes over the rows
  const char* epochs_default = "";  // used if the key has no value
  int64_t model_ranks = 1;          // ranks that share a copy of the model
};

/// Sets batch, length and devices. If the number of GPUs is unknown, leaves the devices to the run's -n and returns
/// false; then the layout must be left out too.
bool set_row_training(Conversion& conversion, const LearntBatches& training, std::optional<int64_t> num_ranks);
/// Returns -n, or num_processes (added by the script's launcher); nullopt if neither is known.
std::optional<int64_t> count_processes(const Conversion& conversion);
/// Completes model and data keys, and reports those that the user must set. Validation rows get the training's columns;
/// without validation rows, drops eval_steps.
void set_learnt_rows(Conversion& conversion, const std::string& role);
/// Sets both Adam betas from "[0.9,0.999]" or "0.9 0.999". UserError: the value is not two numbers.
void set_betas(Conversion& conversion, const std::string& role, const char* key);

}  // namespace roll
