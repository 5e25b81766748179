// Writes a run to MLflow's file store; `mlflow ui --backend-store-uri FOLDER` shows it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "track/tracker.h"

namespace roll {

struct MlflowRun {
  std::filesystem::path store;  // "mlruns"
  std::string experiment;       // name of the experiment
  std::string run;              // run id, constant over restarts
  std::string name;             // display name
};

/// Returns the run's folder in the store.
std::filesystem::path mlflow_run_folder(const MlflowRun& run);

/// Creates experiment and run if missing. MLflow groups metrics by the part before the first '/'; further '/' become
/// '.', because nested names would collide with files. Names that MLflow or the file system rejects are replaced and
/// get a hash. SystemError: a file cannot be written.
std::unique_ptr<Sink> make_mlflow_sink(const MlflowRun& run);

}  // namespace roll
