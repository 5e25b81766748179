// Truncates metrics files when a run resumes from an earlier step, since it will write the later steps again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Truncates metrics.jsonl after `step` and drops an unfinished last line. Does nothing if the file is missing.
/// SystemError: it cannot be truncated.
void truncate_jsonl(const std::filesystem::path& file, int64_t step);

/// Truncates metrics.csv after `step` and keeps its header.
void truncate_csv(const std::filesystem::path& file, int64_t step);

/// Truncates the metrics in an MLflow run folder after `step`.
void truncate_mlflow(const std::filesystem::path& run_folder, int64_t step);

/// Truncates the event files of `run` in `folder`, named by make_tensorboard_sink(). SystemError: a file cannot be
/// truncated.
void truncate_tensorboard(const std::filesystem::path& folder, const std::string& run, int64_t step);

/// Truncates the file of a W&B run after `step`, including an end-of-run record.
void truncate_wandb(const std::filesystem::path& folder, const std::string& run, int64_t step);

}  // namespace roll
