// A run in W&B's own files of a run without a server, which `wandb sync FOLDER` uploads:
//   offline-run-20261124_095638-ID/run-ID.wandb  and  files/
// The .wandb file is a log in LevelDB's format (blocks of 32 KB, frames with CRC-32) of Record messages
// (wandb_internal.proto). A frame is handed to the operating system whole, so a run that is killed leaves a file that
// can be read up to there; a run that goes on goes on in the same file.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>

#include "track/tracker.h"

namespace roll {

struct WandbRun {
  std::filesystem::path folder;  // "wandb"
  std::string id;                // names the run over all its restarts
  std::string project, name;
  Json config{};  // an object
};

/// The run's file; "" where there is none yet.
std::filesystem::path find_wandb_file(const std::filesystem::path& folder, const std::string& id);

/// A record as it is written `offset` bytes into a file.
std::string wandb_frames(std::string_view record, int64_t offset);
/// The next record of a file, from its place on; false at the end, or where one is not whole or not sound.
bool read_wandb_record(std::istream& in, std::string& record);
/// The bytes that a file begins with, before its first record. False: it does not.
bool read_wandb_head(std::istream& in);
/// Whether what the record tells happened after the step: a later step's history, or the run's end.
bool is_wandb_record_after(std::string_view record, int64_t step);

/// Each step as a history and what the summary becomes; finish() is the run's end. SystemError.
std::unique_ptr<Sink> make_wandb_sink(const WandbRun& run);

}  // namespace roll
