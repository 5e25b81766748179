// Writes a run as W&B offline files, which `wandb sync FOLDER` uploads:
//   offline-run-20261124_095638-ID/run-ID.wandb  and  files/
// The .wandb file is a LevelDB log (32 KB blocks, CRC-32 frames) of Record messages (wandb_internal.proto). Frames are
// flushed whole, so the file of a killed run stays readable. A resumed run appends to the same file, from which
// truncate_wandb() (truncate.h) has first cut the records that it will write again.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "track/tracker.h"

namespace roll {

/// Identity of a run in W&B's files.
struct WandbRun {
  std::filesystem::path folder;  // folder of all runs: "wandb"
  std::string id;                // run id, constant over restarts
  std::string project;           // W&B's project
  std::string name;              // display name
  Json config{};                 // configuration shown by W&B, a JSON object
};

/// Returns the path of the .wandb file of run `id` in `folder`; "" if there is none yet.
std::filesystem::path find_wandb_file(const std::filesystem::path& folder, const std::string& id);

/// Returns the bytes to write at byte `offset` of a file for a record (an encoded Record message): its frames, which
/// depend on the block boundaries.
std::string wandb_frames(std::string_view record, int64_t offset);
/// Reads the next record and sets `record`; returns false at the end, or if the record is incomplete or damaged.
bool read_wandb_record(std::istream& in, std::string& record);
/// Reads the file header, before the first record; returns false if it is missing or damaged.
bool read_wandb_head(std::istream& in);
/// Returns true if the record is the history of a step after `step`, or marks the run's end. A run that resumes after
/// `step` cuts the file before the first such record: it writes the later steps again, and has not ended.
bool is_wandb_record_after(std::string_view record, int64_t step);

/// Makes a Sink (tracker.h) that writes each step as a history record and a summary record. Its finish() writes a
/// record of the run's end. Appends to the run's file if it exists and cuts nothing: a resumed run calls
/// truncate_wandb() first. Throws SystemError if a file cannot be written.
std::unique_ptr<Sink> make_wandb_sink(const WandbRun& run);

}  // namespace roll
