// Decides how a run starts: its folder, its id, and the checkpoint to resume from. Rank 0 decides before models are
// loaded, without changing a file, and broadcasts the decision. Used by plan_run() (run.h).
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

/// Request of the user, and facts that a resumed run must share with its checkpoint.
struct RunRequest {
  std::string output_dir;  // configuration key
  /// Configuration key. "false" or "": do not resume; "true": resume from the newest checkpoint in output_dir; else the
  /// path of a checkpoint, or of a run folder with checkpoints.
  std::string resume_from_checkpoint;
  bool new_run = false;                                 // --new-run: start in a new folder below output_dir
  bool allow_config_change = false;                     // --allow-config-change: only warn if the training would change
  std::string resolved_config;                          // the complete configuration as YAML
  std::string measured;                                 // result of measured_by()
  std::string version;                                  // versions of program and libraries
  std::map<std::string, int64_t> sequences_per_update;  // by role: sequences of one update, over all ranks
  bool is_long = false;                                 // the policy uses LongRoPE's long factors (Rope::is_long)
};

/// The decision.
struct RunStart {
  std::filesystem::path folder;       // run folder
  std::string run;                    // id of the run, which stays the same when it resumes in its folder
  std::optional<ResumePoint> resume;  // checkpoint to resume from; nullopt: the run starts from the beginning
  bool continues_run = false;         // true: the folder already holds this run
  bool multiplied_bfloat16 = false;   // rank 0 only: the checkpoint's run multiplied bfloat16 matrices natively
  bool multiplied_by_onednn = false;  // rank 0 only: the checkpoint's run multiplied float32 matrices by oneDNN
  std::unique_ptr<FileLock> lock;     // rank 0 only, if continues_run: the folder's lock; else nullptr
};

/// Describes the run in a folder, for messages: "7 lines of metrics, checkpoint step_000005"; "" if it holds no run.
std::string describe_run_in(const std::filesystem::path& folder);

/// Returns the name of the metric that says which checkpoint is better, metric_for_best_model, with a "-" in front if
/// smaller values are better: "val_correct/all/mean".
std::string measured_by(const CheckpointConfig& config);

/// Throws UserError if the folder holds a run, as describe_run_in() finds it; the message says how to continue it.
void refuse_run_in(const std::filesystem::path& folder);

/// Chooses the folder's name of a --new-run by the local time, "2026-11-21_20-24-10", and stores it in an environment
/// variable for all ranks and restarts of the job. Called before the ranks are started; does nothing if it is set.
void name_new_run();

/// Decides the start. It also sets, on all ranks alike, whether bfloat16 matrices are multiplied natively and float32
/// matrices by oneDNN: only if that is faster on every rank, and when resuming only if the checkpoint's run did so.
/// **Collective** over `ranks`, all ranks of the job. Throws UserError if the folder holds a run that is not to be
/// resumed, or another process works in it. It also does if resume_from_checkpoint is a path without an undamaged
/// checkpoint, or is set together with new_run. It also does if the configuration would change the training, unless
/// allow_config_change; the message lists old and new values.
RunStart choose_start(const RunRequest& request, Communicator& ranks, Log& log);

/// Returns the fields that describe the run with the id `run` in a checkpoint's manifest; choose_start() reads them.
Json about_checkpoint(const RunRequest& request, const std::string& run);

}  // namespace roll
