// The start of a run: its folder, its id, and the checkpoint that it goes on with. Rank 0 decides this before anything
// is loaded, without changing a file, and broadcasts it.
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

/// What the user requests.
struct RunWish {
  std::string output_dir;
  std::string resume_from_checkpoint;  // "false" or "", "true", or a path
  bool new_run = false;                // --new-run: a folder of its own below output_dir
  bool allow_config_change = false;
  std::string resolved_config;                          // YAML
  std::string measured;                                 // measured_by()
  std::string version;                                  // of the program and its libraries
  std::map<std::string, int64_t> sequences_per_update;  // by role: what batch sizes and layout come to
  bool is_long = false;                                 // the policy's Rope::is_long
};

struct RunStart {
  std::filesystem::path folder;
  std::string run;                    // names the run over all its restarts
  std::optional<ResumePoint> resume;  // none: from the beginning
  bool goes_on = false;               // the folder holds this very run already
  bool multiplied_bfloat16 = false;   // until `resume`, as such; rank 0's
  bool multiplied_by_onednn = false;  // likewise, products of float32
  std::unique_ptr<FileLock> lock;     // rank 0's, where the folder is there already
};

/// What output_dir holds of a run: "7 steps and checkpoint step_000005"; "" when it holds none.
std::string run_in(const std::filesystem::path& folder);

/// The metric that ranks checkpoints: "val_correct/all/mean", with a "-" where less is better.
std::string measured_by(const CheckpointConfig& config);

/// UserError: the folder holds a run.
void refuse_run_in(const std::filesystem::path& folder);

/// Fixes the folder's name of a new run in the environment, "2026-11-21_20-24-10", so that all ranks and restarts use
/// it.
void name_new_run();

/// All ranks multiply bfloat16 and float32 alike from here on: as is faster on each, and as the run did before.
/// **Collective**. UserError: a run in the folder that nobody asked to go on with, a path without a checkpoint, a
/// configuration that would change the training (with old and new values), another process at work in the folder.
RunStart start_of(const RunWish& wish, Communicator& ranks, Log& log);

/// What a finished checkpoint's manifest says of the run, read back by start_of().
Json about_checkpoint(const RunWish& wish, const std::string& run);

}  // namespace roll
