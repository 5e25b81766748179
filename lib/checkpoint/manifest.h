// What a finished checkpoint holds: manifest.json names every file below the folder with its size and checksum. It is
// the last file that is written, so a folder without it is not finished.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file_sum.h"
#include "base/json.h"

namespace roll {

constexpr const char* kManifestFile = "manifest.json";

Json to_json(const FileSums& sums);
/// UserError "origin: ..." when it is not what to_json() gives.
FileSums sums_from_json(const Json& json, const std::string& origin);

struct Manifest {
  Json about;  // what its writer adds: step, run, versions, ...
  FileSums files;
};
/// SystemError.
void write_manifest(const std::filesystem::path& folder, const Manifest& manifest);
/// UserError: there is none, or it is damaged.
Manifest read_manifest(const std::filesystem::path& folder);

/// One line for each file that is missing, has another size or other bytes, or is not listed: "actor/config.json: ...".
/// Reads every byte. UserError as read_manifest().
std::vector<std::string> faults_of(const std::filesystem::path& folder);

}  // namespace roll
