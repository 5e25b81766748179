// A run that goes on after an earlier step writes the later ones again: its files are truncated behind that step first,
// so that every step is there once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Truncates metrics.jsonl after `step`; a last line that was not finished goes too. Nothing where there is no file.
/// SystemError.
void truncate_jsonl(const std::filesystem::path& file, int64_t step);

/// Truncates metrics.csv likewise; its header stays.
void truncate_csv(const std::filesystem::path& file, int64_t step);

/// Truncates the metrics of an MLflow run's folder after `step`.
void truncate_mlflow(const std::filesystem::path& run_folder, int64_t step);

/// Truncates the event files that run `run` left in `folder`, as make_tensorboard_sink() names them. SystemError.
void truncate_tensorboard(const std::filesystem::path& folder, const std::string& run, int64_t step);

/// Truncates the file of a W&B run after `step`, an end of the run with it.
void truncate_wandb(const std::filesystem::path& folder, const std::string& run, int64_t step);

}  // namespace roll
