// What fine-tuning and preference optimisation share: updates over rows that are there before the run begins.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/log.h"
#include "dist/communicator.h"
#include "pipeline/stage_split.h"
#include "run/memory_watch.h"
#include "run/run.h"
#include "settings/worker_config.h"
#include "track/metrics.h"

namespace roll {

/// 0, 1, ..., count - 1.
std::vector<int64_t> first_numbers(int64_t count);

/// Writes the file of an update that was skipped, one line per row: which row of which file it was. Gives its path.
std::string write_origins(const RunFolder& folder, int64_t update, const std::vector<Json>& rows);
template <class T>
std::string write_origins(const RunFolder& folder, int64_t update, const std::vector<T>& rows) {
  std::vector<Json> origins;
  for (const T& row : rows) origins.push_back({{"id", row.id}, {"row", row.origin}});
  return write_origins(folder, update, origins);
}

/// Which of the model's layers are on which stage.
StageSplit stages_of(const WorkerConfig& worker, const std::filesystem::path& model_folder);

/// StoredRows::fingerprint() as a checkpoint says it.
std::string fingerprint_text(uint64_t fingerprint);

struct RowTraining {
  std::function<Metrics(int64_t update)> train;
  std::function<Metrics(int64_t update)> validate;  // none: there is nothing to validate on
  std::function<RunState()> state;
  int64_t eval_steps = 0;
};
/// All updates of the run, each with its validation and checkpoint where they are due. **Collective**. Stopped when a
/// signal came: what was done is saved.
void run_row_training(const RowTraining& training, Run& run, MemoryWatch& memory, Communicator& ranks, Log& log);

}  // namespace roll
