// Decides how a run starts: its folder, its id, and the checkpoint to resume from. Rank 0 decides before anything is
// loaded, without changing a file, and broadcasts the decision.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/log.h"
#include "dist/communicator.h"
#include "process/file_lock.h"
#include "records/messages.h"
#include "settings/checkpoint_config.h"

namespace roll {

/// The user's request.
struct RunRequest {
  std::string output_dir;
  std::string resume_from_checkpoint;  // "false" or "", "true", or a path
  bool new_run = false;                // --new-run: a new folder below output_dir
  bool allow_config_change = false;
  std::string resolved_config;                          // YAML
  std::string measured;                                 // measured_by()
  std::string version;                                  // program and libraries
  std::map<std::string, int64_t> sequences_per_update;  // by role, from batch sizes and layout
  bool is_long = false;                                 // the policy's Rope::is_long
};

struct RunStart {
  std::filesystem::path folder;
  std::string run;                    // id of the run over all its restarts
  std::optional<ResumePoint> resume;  // unset: from the beginning
  bool continues_run = false;         // the folder already holds this run
  bool multiplied_bfloat16 = false;   // bfloat16 GEMMs ran natively before `resume`; rank 0 only
  bool multiplied_by_onednn = false;  // oneDNN ran float32 GEMMs before `resume`; rank 0 only
  std::unique_ptr<FileLock> lock;     // on rank 0, if the folder exists
};

/// Describes the run in a folder: "7 lines of metrics, checkpoint step_000005"; "" when there is none.
std::string describe_run_in(const std::filesystem::path& folder);

/// Returns the metric that ranks checkpoints: "val_correct/all/mean", with a "-" in front if less is better.
std::string measured_by(const CheckpointConfig& config);

/// UserError: the folder holds a run.
void refuse_run_in(const std::filesystem::path& folder);

/// Stores a new run's folder name, "2026-11-21_20-24-10", in the environment for all ranks and restarts.
void name_new_run();

/// Decides the start, and makes all ranks multiply bfloat16 and float32 in one way: the faster one on every rank, and
/// the earlier one when resuming. **Collective**. UserError: the folder holds a run that is not to be resumed, a path
/// has no checkpoint, the configuration would change the training (lists old and new values), or another process works
/// in the folder.
RunStart choose_start(const RunRequest& request, Communicator& ranks, Log& log);

/// Returns the run's fields of a checkpoint's manifest, which choose_start() reads.
Json about_checkpoint(const RunRequest& request, const std::string& run);

}  // namespace roll
