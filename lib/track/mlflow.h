// Writes a run to MLflow's file store; `mlflow ui --backend-store-uri FOLDER` shows it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "track/tracker.h"

namespace roll {

/// Identity of a run in a file store.
struct MlflowRun {
  std::filesystem::path store;  // folder with all experiments: "mlruns"
  std::string experiment;       // name of the experiment, a group of runs
  std::string run;              // run id, constant over restarts
  std::string name;             // display name
};

/// Returns the run's folder in the store; it may not exist yet.
std::filesystem::path mlflow_run_folder(const MlflowRun& run);

/// Makes a Sink (tracker.h) for the run; creates experiment and run in the store if missing. In metric names, each '/'
/// after the first becomes '.', because deeper folders would collide with files. Names that MLflow or the file system
/// rejects are changed and get a hash. Non-finite values are not written. Throws SystemError if a file cannot be
/// written.
std::unique_ptr<Sink> make_mlflow_sink(const MlflowRun& run);

}  // namespace roll
