// Converts trainings on the rows of a data file (`roll sft`, `roll dpo`), for the converters of all source trainers.
#pragma once

#include "convert/table.h"

namespace roll {

/// Batches and length of a training on rows. Source keys are keys of the other trainer.
struct LearntBatches {
  const char* role;       // roll's role: "sft_train"
  int64_t batch = 1;      // rows per update, over all ranks
  const char* batch_key;  // source key named in the error if the batch cannot be split over the ranks
  std::string origin;     // origin of `batch` for the YAML's comment (Conversion::origin())
  int64_t micro = 1;      // rows per micro-batch of a rank
  const char* steps;      // source key of the number of updates; a value above 0 overrides epochs. nullptr: no such key
  const char* epochs;     // source key of the number of passes over the rows
  const char* epochs_default = "";  // passes written if that key has no value
  int64_t model_ranks = 1;          // ranks that share a copy of the model
};

/// Writes roll's keys for the batch, the number of updates or passes, and the devices 0..num_ranks-1; returns true. If
/// `num_ranks` is nullopt, writes no devices, because the flag -n of the later run gives them, and returns false; then
/// the caller must not write parallel sizes either. Throws UserError if the batch is not a multiple of the
/// data-parallel ranks (num_ranks / model_ranks).
bool set_row_training(Conversion& conversion, const LearntBatches& training, std::optional<int64_t> num_ranks);
/// Returns the number of GPUs: -n if given, else the key num_processes that choose_launch() adds; nullopt if neither is
/// known.
std::optional<int64_t> count_processes(const Conversion& conversion);
/// Writes placeholders for the model folder and the data files of roll's role `role` if they are not set, and reports
/// them to the user. If there are validation rows, sets their columns as for training; else removes eval_steps.
void set_learnt_rows(Conversion& conversion, const std::string& role);
/// Sets both Adam betas of roll's role `role` from the source key `key`, "[0.9,0.999]" or "0.9 0.999". Throws UserError
/// if its value is not two entries.
void set_betas(Conversion& conversion, const std::string& role, const char* key);

}  // namespace roll
