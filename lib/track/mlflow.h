// A run in MLflow's file store: plain text that `mlflow ui --backend-store-uri FOLDER` shows.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "track/tracker.h"

namespace roll {

struct MlflowRun {
  std::filesystem::path store;  // "mlruns"
  std::string experiment;       // its name
  std::string run;              // names the run over all its restarts
  std::string name;             // that people see
};

std::filesystem::path mlflow_run_folder(const MlflowRun& run);

/// Makes experiment and run where they are not there yet. MLflow takes the part of a metric's name before the first
/// '/' as its group; the other '/' become '.', because a name may not lead into another one's file. A name that MLflow
/// or a file system would not take becomes one that they take, with a hash of what it was. SystemError.
std::unique_ptr<Sink> make_mlflow_sink(const MlflowRun& run);

}  // namespace roll
