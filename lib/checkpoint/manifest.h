// The manifest of a checkpoint: manifest.json lists every file of the folder with size and checksum, and has a
// checksum itself. It is written last, so a folder without it is unfinished. Files that users add later are no damage,
// unless a reader would take them for a part of the checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/file_sum.h"
#include "base/json.h"

namespace roll {

constexpr const char* kManifestFile = "manifest.json";

/// Returns the manifest's value of "files": an object path -> {bytes, xxh3}.
Json to_json(const FileSums& sums);
/// Parses the result of to_json(). Throws UserError "origin: ..." if it has another form, or a path leads out of the
/// folder.
FileSums sums_from_json(const Json& json, const std::string& origin);

/// Format of new manifests. Format 1, which is read, too, had no checksum of the manifest itself.
constexpr int64_t kManifestFormat = 2;
/// Largest step that a manifest may have.
constexpr int64_t kLastStep = 1'000'000'000;

struct Manifest {
  Json about;        // object with the manifest's other fields, which the writer chooses: run, versions, metric, ...
  FileSums files;    // by path below the folder
  int64_t step = 0;  // the training step after which the checkpoint was written
};
/// Writes manifest.json into the folder, atomically. Throws SystemError if writing fails.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);
/// Reads manifest.json; does not look at the listed files. Throws UserError if it is missing, damaged, or in an unknown
/// format.
Manifest read_manifest(const std::filesystem::path& folder);

/// Differences between a checkpoint's folder and its manifest; one line each: "actor/config.json: ...".
struct CheckpointFaults {
  std::vector<std::string> damage;  // listed files that are missing or changed; unlisted files that a reader would read
  std::vector<std::string> beside;  // unlisted files that no reader reads, which are harmless
};
/// Reads every file and compares it with the manifest. Throws UserError like read_manifest().
CheckpointFaults find_checkpoint_faults(const std::filesystem::path& folder);

/// Returns the innermost finished checkpoint that is `path` or contains it; nullopt if there is none. A checkpoint is
/// finished if read_manifest() succeeds. Follows links; `path` need not exist.
std::optional<std::filesystem::path> checkpoint_around(const std::filesystem::path& path);
/// Throws UserError "name = path: ..." if checkpoint_around(path) finds a checkpoint. Call it before writing to `path`;
/// `name`: the flag or key that gave the path.
void refuse_in_checkpoint(const std::string& name, const std::filesystem::path& path);

}  // namespace roll
