// What a finished checkpoint holds: manifest.json names every file below the folder with its size and checksum, and
// ends with a checksum of itself. It is the last file that is written, so a folder without it is not finished. What
// other programs and people put beside these files does no harm, unless a checkpoint's reader would take it for a part.
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

Json to_json(const FileSums& sums);
/// UserError "origin: ..." when it is not what to_json() gives.
FileSums sums_from_json(const Json& json, const std::string& origin);

/// The format of manifests that are written. Format 1 had no checksum of itself.
constexpr int64_t kManifestFormat = 2;
/// Steps beyond it are no run's.
constexpr int64_t kLastStep = 1'000'000'000;

struct Manifest {
  Json about;  // what its writer adds: run, versions, ...
  FileSums files;
  int64_t step = 0;
};
/// SystemError.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);
/// UserError: there is none, it is damaged, or of a format that this program does not know.
Manifest read_manifest(const std::filesystem::path& folder);

/// What a checkpoint's folder holds beside what was written; a line each: "actor/config.json: ...".
struct CheckpointFaults {
  std::vector<std::string> damage;  // missing, of another size, with other bytes, or added where it would be read
  std::vector<std::string> beside;  // not listed, and read by nobody
};
/// Reads every byte. UserError as read_manifest().
CheckpointFaults faults_of(const std::filesystem::path& folder);

/// The finished checkpoint that a path leads into, or is; none: no folder above it is one. Links are followed.
std::optional<std::filesystem::path> checkpoint_around(const std::filesystem::path& path);
/// UserError "name = path: ..." where a path leads into a finished checkpoint: nothing is written there any more.
void refuse_in_checkpoint(const std::string& name, const std::filesystem::path& path);

}  // namespace roll
