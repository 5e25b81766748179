// A run that goes on after an earlier step writes the later ones again: what files hold of them is taken away first, so
// that every step is there once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace roll {

/// Cuts metrics.jsonl after `step`; a last line that was not finished goes too. Nothing where there is no file.
/// SystemError.
void take_back_jsonl(const std::filesystem::path& file, int64_t step);

/// Cuts metrics.csv after `step` in the same way; its header stays.
void take_back_csv(const std::filesystem::path& file, int64_t step);

/// Cuts the metrics of an MLflow run's folder after `step`.
void take_back_mlflow(const std::filesystem::path& run_folder, int64_t step);

/// Cuts the event files that run `run` left in `folder`, as make_tensorboard_sink() names them. SystemError.
void take_back_tensorboard(const std::filesystem::path& folder, const std::string& run, int64_t step);

}  // namespace roll
