// The manifest of a finished checkpoint. manifest.json lists every file with size and checksum, and ends with its own
// checksum. It is written last, so a folder without it is unfinished. Files that others add do no harm, unless a reader
// would take them for a part of the checkpoint.
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
/// Parses the output of to_json(). UserError "origin: ...": it has another form.
FileSums sums_from_json(const Json& json, const std::string& origin);

/// Format of new manifests. Format 1 had no checksum of the manifest itself.
constexpr int64_t kManifestFormat = 2;
/// Largest step that a manifest may have.
constexpr int64_t kLastStep = 1'000'000'000;

struct Manifest {
  Json about;  // the writer's fields: run, versions, ...
  FileSums files;
  int64_t step = 0;
};
/// Writes manifest.json. SystemError: the disk refuses.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);
/// Reads manifest.json. UserError: it is missing, damaged, or in an unknown format.
Manifest read_manifest(const std::filesystem::path& folder);

/// Differences between a checkpoint's folder and its manifest; one line each: "actor/config.json: ...".
struct CheckpointFaults {
  std::vector<std::string> damage;  // missing, other size, other bytes, or added where a reader would use it
  std::vector<std::string> beside;  // not listed, and never read
};
/// Compares every file's bytes with the manifest. UserError: as for read_manifest().
CheckpointFaults find_checkpoint_faults(const std::filesystem::path& folder);

/// Returns the finished checkpoint that `path` is or lies in; nullopt if none. Links are followed.
std::optional<std::filesystem::path> checkpoint_around(const std::filesystem::path& path);
/// UserError "name = path: ...": the path lies in a finished checkpoint, which must not change any more.
void refuse_in_checkpoint(const std::string& name, const std::filesystem::path& path);

}  // namespace roll
