// Truncates metrics files when a run resumes from an earlier step, because it will write the later steps again. Call
// the functions before the sinks are opened (tracker.h). Each keeps steps up to and including `step`, and throws
// SystemError if a file cannot be truncated. Missing files are ignored.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Truncates metrics.jsonl or histograms.jsonl; also drops an unfinished last line.
void truncate_jsonl(const std::filesystem::path& file, int64_t step);

/// Truncates metrics.csv; also drops an unfinished last line.
void truncate_csv(const std::filesystem::path& file, int64_t step);

/// Truncates the files of all metrics in an MLflow run folder (mlflow_run_folder()).
void truncate_mlflow(const std::filesystem::path& run_folder, int64_t step);

/// Truncates the event files in `folder` that make_tensorboard_sink() made for the run id `run`.
void truncate_tensorboard(const std::filesystem::path& folder, const std::string& run, int64_t step);

/// Truncates the file of the W&B run with the id `run` in `folder`, before the first record of a later step or of the
/// run's end.
void truncate_wandb(const std::filesystem::path& folder, const std::string& run, int64_t step);

}  // namespace roll
